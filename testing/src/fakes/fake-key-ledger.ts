import { ShareBoard } from '@wherry/core/limits/share-board.ts';
import type { KeyLedger, KeyUses, LimitAnswer, LimitReport } from '@wherry/core/ports/key-ledger.ts';

/** Keeps what is written to it. */
export class FakeKeyLedger implements KeyLedger {
  readonly #shares = new ShareBoard();
  readonly uses = new Map<string, number>();

  used(uses: KeyUses): void {
    for (const [key, at] of Object.entries(uses)) this.uses.set(key, Math.max(at, this.uses.get(key) ?? 0));
  }

  /** Divides rates; time stands still. Every quota is granted as it is requested. */
  exchange({ router, limits }: LimitReport): Promise<LimitAnswer> {
    const routers = this.#shares.heard(router, 0);
    const answers = Object.entries(limits).map(([holder, { rate, quota }]) => [
      holder,
      {
        rate: rate && this.#shares.divide(router, holder, rate, 0),
        quota: quota && { day: quota.day, granted: quota.wanted, left: quota.daily },
      },
    ]);
    return Promise.resolve({ routers, limits: Object.fromEntries(answers) as LimitAnswer['limits'] });
  }
}

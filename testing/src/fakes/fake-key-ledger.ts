import type { KeyLedger, KeyUses } from '@wherry/core/ports/key-ledger.ts';

/** Keeps what is written to it. */
export class FakeKeyLedger implements KeyLedger {
  readonly uses = new Map<string, number>();

  used(uses: KeyUses): void {
    for (const [key, at] of Object.entries(uses)) this.uses.set(key, Math.max(at, this.uses.get(key) ?? 0));
  }
}

import type { InternalClient } from '@wherry/content/internal-client.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyLedger, KeyUses, LimitAnswer, LimitReport } from '@wherry/core/ports/key-ledger.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '@wherry/service/backoff.ts';

/** Reports of several routers that arrive within this time are sent together. */
const GATHER_MS = 1000;
const RETRY = { firstMs: 1000, lastMs: 15_000 };
/** Routers wait no longer for their share. */
const EXCHANGE_MS = 2000;
/** Of one request. */
const MOST_KEYS = 20_000;

interface RemoteKeyLedgerOptions {
  client: Pick<InternalClient, 'send'>;
  clock: Clock;
  logger: Logger;
}

/** The manager's ledger, as the operator reaches it. While the manager is away, uses wait: one time a key. */
export class RemoteKeyLedger implements KeyLedger {
  readonly #options: RemoteKeyLedgerOptions;
  readonly #uses = new Map<string, number>();
  readonly #retries = new Backoff(RETRY);
  #cancel: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #stopped = false;

  constructor(options: RemoteKeyLedgerOptions) {
    this.#options = options;
  }

  used(uses: KeyUses): void {
    for (const [key, at] of Object.entries(uses)) this.#uses.set(key, Math.max(at, this.#uses.get(key) ?? 0));
    this.#sendLater(GATHER_MS);
  }

  async exchange(report: LimitReport): Promise<LimitAnswer> {
    const headers = { 'content-type': 'application/json' };
    const answer = await this.#options.client.send({
      method: 'POST',
      path: '/keys/limits',
      headers,
      body: JSON.stringify(report),
      timeoutMs: EXCHANGE_MS,
    });
    return (await answer.body.json()) as LimitAnswer;
  }

  /** Tries once more to send what waits. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#sending;
    while (this.#uses.size > 0 && (await this.#send()));
  }

  #sendLater(ms: number): void {
    if (this.#stopped || this.#sending !== undefined || this.#uses.size === 0) return;
    this.#cancel ??= this.#options.clock.after(ms, () => {
      this.#cancel = undefined;
      this.#sending = this.#send().then((isSent) => {
        this.#sending = undefined;
        this.#sendLater(isSent ? GATHER_MS : this.#retries.failed());
      });
    });
  }

  /** @returns whether it was sent. What was not waits again, where no later use is known. */
  async #send(): Promise<boolean> {
    const batch = [...this.#uses].slice(0, MOST_KEYS);
    for (const [key] of batch) this.#uses.delete(key);
    try {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(Object.fromEntries(batch));
      const answer = await this.#options.client.send({ method: 'POST', path: '/keys/uses', headers, body });
      await answer.body.dump();
      this.#retries.reset();
      return true;
    } catch (error) {
      for (const [key, at] of batch) this.#uses.set(key, Math.max(at, this.#uses.get(key) ?? 0));
      if (this.#retries.failures === 0)
        this.#options.logger.warn({ err: error }, 'the uses of keys cannot be sent to the manager; they wait');
      return false;
    }
  }
}

import { ShareBoard } from '@wherry/core/limits/share-board.ts';
import type { KeyLedger, KeyUses, LimitAnswer, LimitReport } from '@wherry/core/ports/key-ledger.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { LedgerStore } from './ledger-store.ts';

/** A key is written once in this time at the most, all keys in one transaction. */
const SAVE_MS = 60_000;

const DAY_MS = 86_400_000;
/** Of several routers, none gets more at once of what is left of a quota than this part of an equal share. */
const GRANTS = 10;

interface KeyLedgerOptions {
  store: LedgerStore;
  clock: Clock;
  logger: Logger;
}

/** The ledger, in the one process that owns its database. */
export interface OwnedKeyLedger extends KeyLedger {
  /** Milliseconds since 1970 UTC; undefined for a key that was never used. */
  lastUsedAt(key: string): number | undefined;
  /** Forgets keys that do not exist any more. */
  forget(keys: readonly string[]): void;
  /** The keys of which it knows a use. */
  keys(): string[];
  /** Saves what is new. */
  stop(): Promise<void>;
}

/** Opens the ledger with what is stored. Where that cannot be read, it begins empty: callers need none of it. */
export async function openKeyLedger(options: KeyLedgerOptions): Promise<OwnedKeyLedger> {
  const { store, logger } = options;
  let uses: KeyUses = {};
  try {
    uses = await store.uses();
  } catch (error) {
    logger.warn({ err: error }, 'the last uses of keys cannot be read: they are shown as never used until used again');
  }
  return new SavedKeyLedger(options, new Map(Object.entries(uses)));
}

class SavedKeyLedger implements OwnedKeyLedger {
  readonly #options: KeyLedgerOptions;
  readonly #uses: Map<string, number>;
  readonly #changed = new Set<string>();
  readonly #shares = new ShareBoard();
  #cancelTimer: () => void = () => undefined;

  constructor(options: KeyLedgerOptions, uses: Map<string, number>) {
    this.#options = options;
    this.#uses = uses;
    this.#saveLater();
  }

  used(uses: KeyUses): void {
    const now = this.#options.clock.now();
    for (const [key, reported] of Object.entries(uses)) {
      // Another machine's clock may be ahead.
      const at = Math.min(reported, now);
      if (at <= (this.#uses.get(key) ?? -1)) continue;
      this.#uses.set(key, at);
      this.#changed.add(key);
    }
  }

  lastUsedAt(key: string): number | undefined {
    return this.#uses.get(key);
  }

  async exchange({ router, limits }: LimitReport): Promise<LimitAnswer> {
    const { store, clock } = this.#options;
    const now = clock.monotonic();
    const routers = this.#shares.heard(router, now);
    const answers: LimitAnswer['limits'] = {};
    const requests: Parameters<LedgerStore['grant']>[0] = {};
    for (const [holder, { rate, quota }] of Object.entries(limits)) {
      answers[holder] = rate === undefined ? {} : { rate: this.#shares.divide(router, holder, rate, now) };
      if (quota !== undefined) requests[holder] = quota;
    }
    if (Object.keys(requests).length === 0) return { routers, limits: answers };
    // One router may have all; several keep most of it for each other.
    const most = routers === 1 ? 1 : 1 / (GRANTS * routers);
    const grants = await store.grant(requests, Math.floor(clock.now() / DAY_MS), most);
    for (const [holder, quota] of Object.entries(grants)) answers[holder] = { ...answers[holder], quota };
    return { routers, limits: answers };
  }

  keys(): string[] {
    return [...this.#uses.keys()];
  }

  forget(keys: readonly string[]): void {
    for (const key of keys) if (this.#uses.delete(key)) this.#changed.add(key);
  }

  async stop(): Promise<void> {
    this.#cancelTimer();
    await this.#save();
  }

  #saveLater(): void {
    this.#cancelTimer = this.#options.clock.after(SAVE_MS, () => {
      void this.#save();
      this.#saveLater();
    });
  }

  /** What cannot be saved is tried again with the next one. */
  async #save(): Promise<void> {
    if (this.#changed.size === 0) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    const uses: KeyUses = {};
    const gone: string[] = [];
    for (const key of changed) {
      const at = this.#uses.get(key);
      if (at === undefined) gone.push(key);
      else uses[key] = at;
    }
    try {
      await this.#options.store.saveUses(uses, gone);
    } catch (error) {
      for (const key of changed) this.#changed.add(key);
      this.#options.logger.warn({ err: error, keys: changed.length }, 'the last uses of keys could not be saved');
    }
  }
}

import type { KeyLedger, KeyUses } from '@wherry/core/ports/key-ledger.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { LedgerStore } from './ledger-store.ts';

/** A key is written once in this time at the most, all keys in one transaction. */
const SAVE_MS = 60_000;

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

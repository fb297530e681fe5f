import type { KeyUses } from '@wherry/core/ports/key-ledger.ts';

/** Where the key ledger is kept: what was written before a program is killed is there when it starts again. */
export interface LedgerStore {
  /** @throws DomainError `unavailable`. */
  uses(): Promise<KeyUses>;
  /** @param gone keys that no longer exist. @throws DomainError `unavailable`. */
  saveUses(uses: KeyUses, gone: readonly string[]): Promise<void>;
}

import type { KeyUses, QuotaGrant, QuotaRequest } from '@wherry/core/ports/key-ledger.ts';

/** Where the key ledger is kept: what was written before a program is killed is there when it starts again. */
export interface LedgerStore {
  /** @throws DomainError `unavailable`. */
  uses(): Promise<KeyUses>;
  /** @param gone keys that no longer exist. @throws DomainError `unavailable`. */
  saveUses(uses: KeyUses, gone: readonly string[]): Promise<void>;
  /**
   * Grants parts of daily quotas, and remembers what was granted.
   * @param requests by holder.
   * @param most the part of what is left that one grant may be, from 0 to 1.
   * @throws DomainError `unavailable`.
   */
  grant(requests: Record<string, QuotaRequest>, day: number, most: number): Promise<Record<string, QuotaGrant>>;
}

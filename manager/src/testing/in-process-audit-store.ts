import { DomainError } from '@wherry/core/errors.ts';
import { AuditDatabase } from '../audit/audit-database.ts';
import type { AuditRecord, StoredAuditRecord } from '../audit/audit-record.ts';
import type { AuditQuery, AuditStore } from '../audit/audit-store.ts';

/** The real table of audit records, in memory and without a thread: a test file opens many. */
export class InProcessAuditStore implements AuditStore {
  /** While it is true, the disk is full. */
  isFull = false;
  retentionDays: number | undefined;
  readonly #database = new AuditDatabase(':memory:');

  async append(records: readonly AuditRecord[]): Promise<void> {
    if (this.isFull) throw new DomainError('unavailable', 'The audit database is not available.');
    this.#database.append(records);
  }

  async query(query: AuditQuery): Promise<StoredAuditRecord[]> {
    return this.#database.query(query);
  }

  retain(days: number): void {
    this.retentionDays = days;
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}

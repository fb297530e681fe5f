import type { AuditRecord, StoredAuditRecord } from './audit-record.ts';

export interface AuditQuery {
  /** Id or name. */
  actor?: string | undefined;
  action?: string | undefined;
  objectId?: string | undefined;
  /** Milliseconds since 1970 UTC; from then on. */
  since?: number | undefined;
  /** Before then. */
  until?: number | undefined;
  /** How many at most. */
  limit: number;
  /** Only records older than the one with this id. */
  before?: number | undefined;
}

/** Audit records (M9): they are only ever added, and removed only by age. */
export interface AuditStore {
  /**
   * Adds all records or none. They are on the disk when it resolves.
   * @throws DomainError `unavailable`, for example when the disk is full.
   */
  append(records: readonly AuditRecord[]): Promise<void>;
  /** Newest first. @throws DomainError `unavailable`. */
  query(query: AuditQuery): Promise<StoredAuditRecord[]>;
  /** How long records are kept. Nothing is removed before it is known. */
  retain(days: number): void;
  close(): Promise<void>;
}

import type { AuditRecord } from './audit-record.ts';
import type { AuditQuery } from './audit-store.ts';

/** How its thread opens the database. */
export interface AuditOpening {
  file: string;
  /** Where a damaged file is moved. */
  aside: string;
}

/** The operations of the worker. */
export type AuditOperation =
  | { operation: 'append'; records: readonly AuditRecord[] }
  | { operation: 'query'; query: AuditQuery }
  | { operation: 'trim'; oldest: number; limit: number };

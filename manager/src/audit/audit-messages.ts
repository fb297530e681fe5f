import type { AuditRecord } from './audit-record.ts';
import type { AuditQuery } from './audit-store.ts';

/** The options that the worker is started with. */
export interface AuditWorkerData {
  file: string;
  /** Where a damaged file is moved. */
  aside: string;
}

/** The operations of the worker. */
export type AuditOperation =
  | { operation: 'append'; records: readonly AuditRecord[] }
  | { operation: 'query'; query: AuditQuery }
  | { operation: 'trim'; oldest: number; limit: number };

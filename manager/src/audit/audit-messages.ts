import type { AuditRecord } from './audit-record.ts';
import type { AuditQuery } from './audit-store.ts';

/** What the worker is started with. */
export interface AuditWorkerData {
  file: string;
  /** Where a damaged file goes. */
  aside: string;
}

/** What the worker does. */
export type AuditOperation =
  | { operation: 'append'; records: readonly AuditRecord[] }
  | { operation: 'query'; query: AuditQuery }
  | { operation: 'trim'; oldest: number; limit: number };

import type { UserChange } from './user-record.ts';

/** The options that the worker is started with. */
export interface UserWorkerData {
  file: string;
}

/** The operations of the worker. */
export type UserOperation = { operation: 'load' } | { operation: 'write'; changes: readonly UserChange[] };

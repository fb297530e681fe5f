import type { UserChange } from './user-record.ts';

/** How its thread opens the database. */
export interface UserOpening {
  file: string;
}

/** The operations of the worker. */
export type UserOperation = { operation: 'load' } | { operation: 'write'; changes: readonly UserChange[] };

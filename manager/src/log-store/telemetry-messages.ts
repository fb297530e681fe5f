import type { KeyUses, QuotaRequest } from '@wherry/core/ports/key-ledger.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import type { LogBounds } from './log-database.ts';
import type { FollowQuery, LogQuery } from './telemetry-store.ts';

/** How its thread opens the database. */
export interface TelemetryOpening extends LogBounds {
  file: string;
}

/** The operations of the worker. */
export type TelemetryOperation =
  | { operation: 'write'; entries: LogEntry[] }
  | { operation: 'query'; query: LogQuery }
  | { operation: 'knows'; functionName: string }
  | { operation: 'follow'; query: FollowQuery }
  | { operation: 'newest' }
  | { operation: 'delete'; functionName: string; until: number }
  | { operation: 'trim'; maxPerFunction: number; oldest: number | undefined }
  | { operation: 'uses' }
  | { operation: 'save-uses'; uses: KeyUses; gone: readonly string[] }
  | { operation: 'grant'; requests: Record<string, QuotaRequest>; day: number; most: number };

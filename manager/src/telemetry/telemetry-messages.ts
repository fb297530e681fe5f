import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import type { LogQuery, StoredLogEntry } from './telemetry-store.ts';

/** What the worker is started with. */
export interface TelemetryWorkerData {
  file: string;
  maxPerFunction: number;
}

/** To the worker: each is answered once, in order. */
export type TelemetryRequest =
  | { id: number; operation: 'write'; entries: LogEntry[] }
  | { id: number; operation: 'query'; query: LogQuery }
  | { id: number; operation: 'knows'; functionName: string }
  | { id: number; operation: 'trim'; maxPerFunction: number; oldest: number | undefined }
  | { id: number; operation: 'close' };

/** From the worker; `ready` comes first, once. */
export type TelemetryReply =
  | { id: number; result: StoredLogEntry[] | boolean | null }
  | { id: number; error: string }
  | { ready: true; setAside: string | undefined };

import type { LedgerStore } from '../key-ledger/ledger-store.ts';
import type { LogEntry, LogLevel, TelemetrySink } from '@wherry/core/ports/telemetry.ts';

/** An entry as it is kept. */
export interface StoredLogEntry extends LogEntry {
  /** Grows with every insert. */
  id: number;
}

/** Where a page begins: after this entry, in the order newest first. */
export interface LogPosition {
  timestamp: number;
  sequence: number;
  id: number;
}

export interface LogQuery {
  functionName?: string | undefined;
  requestId?: string | undefined;
  levels?: readonly LogLevel[] | undefined;
  /** How many at most. */
  limit: number;
  after?: LogPosition | undefined;
}

/** How much is kept. */
export interface LogRetention {
  /** How many of the newest entries of a function are kept. */
  maxPerFunction: number;
  /** Older entries go; 0 keeps for ever. */
  retentionSeconds: number;
  /** How often it is looked. */
  intervalSeconds: number;
}

/**
 * Log entries, and the key ledger beside them, in a database without durability guarantees: a power cut may lose the
 * last second.
 */
export interface TelemetryStore extends TelemetrySink, LedgerStore {
  /**
   * Newest first: by timestamp, then by sequence. Whatever was written before the call is in it.
   * @throws DomainError `unavailable`.
   */
  query(query: LogQuery): Promise<StoredLogEntry[]>;
  /** Whether there is any entry of the function, which may be long gone itself. */
  knows(functionName: string): Promise<boolean>;
  retain(retention: LogRetention): void;
  /** How many entries were lost since the start, because they came faster than they could be written. */
  dropped(): number;
  /** Writes what is left and ends the worker. */
  close(): Promise<void>;
}

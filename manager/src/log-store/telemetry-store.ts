import type { LedgerStore } from '../key-ledger/ledger-store.ts';
import type { LogEntry, LogLevel, TelemetrySink } from '@wherry/core/ports/telemetry.ts';

/** An entry as it is kept. */
export interface StoredLogEntry extends LogEntry {
  /** Grows with every insert. */
  id: number;
}

/** Where a page begins: after this entry, in the order newest first. */
interface LogPosition {
  timestamp: number;
  sequence: number;
  id: number;
}

export interface LogQuery {
  functionName?: string | undefined;
  requestId?: string | undefined;
  levels?: readonly LogLevel[] | undefined;
  /** Milliseconds since 1970: entries from then on, and before then. */
  since?: number | undefined;
  until?: number | undefined;
  /** How many at most. */
  limit: number;
  after?: LogPosition | undefined;
  /** All of them are in the entry. Then entries come in the order in which they arrived, the last one first. */
  words?: readonly string[] | undefined;
  /** With words, in place of `after`: entries that arrived before this one. */
  afterId?: number | undefined;
}

export interface FollowQuery extends Pick<LogQuery, 'functionName' | 'levels' | 'limit'> {
  /** The id of the last entry that is known. */
  after: number;
}

export interface FollowedLogs {
  entries: StoredLogEntry[];
  /** The next look begins after this id. */
  lookedAt: number;
  /** Whether there are more to look at now. */
  hasMore: boolean;
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
  /** Entries after a known one, in the order in which they arrived. Of those that wait to be written it has none. */
  follow(query: FollowQuery): Promise<FollowedLogs>;
  /** The id of the last entry that was written; 0 of none. */
  newest(): Promise<number>;
  /** @param callback called after entries were written. @returns how to stop. */
  onWrite(callback: () => void): () => void;
  /** Removes all entries of a function that were written before the call. @returns how many. */
  deleteFunction(functionName: string): Promise<number>;
  /** Whether there is any entry of the function, which may be long gone itself. */
  knows(functionName: string): Promise<boolean>;
  retain(retention: LogRetention): void;
  /** How many entries were lost since the start: they came faster than they could be written, or could not be. */
  dropped(): number;
  /** Writes what is left and ends the worker. */
  close(): Promise<void>;
}

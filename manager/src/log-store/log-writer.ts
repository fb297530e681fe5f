import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { newestId } from './log-queries.ts';
import { INDEX_AFTER, SPAN_AFTER } from './log-schema.ts';

const INSERT =
  'INSERT INTO logs (function_name, request_id, level, message, args, sequence, timestamp) VALUES (?, ?, ?, ?, ?, ?, ?)';

/**
 * Inserts log entries with their words and times. Words are indexed once for all entries: SQLite would begin a new
 * segment of the index, which has to be merged later, with each statement that inserts some.
 */
export class LogWriter {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #index: StatementSync;
  readonly #span: StatementSync;

  /** @param database one with the schema of `prepareSchema`. */
  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#insert = database.prepare(INSERT);
    this.#index = database.prepare(INDEX_AFTER);
    this.#span = database.prepare(SPAN_AFTER);
  }

  /** Call it in a transaction: half of it leaves entries that no search finds. */
  insert(entries: readonly LogEntry[]): void {
    const before = newestId(this.#database);
    for (const { functionName, requestId, level, message, args, sequence, timestamp } of entries)
      this.#insert.run(functionName, requestId, level, message, args, sequence, timestamp);
    this.#index.run(before);
    this.#span.run(before);
  }
}

import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { LedgerTables } from '../key-ledger/ledger-tables.ts';
import { transaction } from '@wherry/service/transaction.ts';
import { where } from '../sqlite-thread/where.ts';
import { LogSize } from './log-size.ts';
import type { LogQuery, StoredLogEntry } from './telemetry-store.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    function_name TEXT NOT NULL,
    request_id TEXT NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    args TEXT,
    sequence INTEGER NOT NULL,
    timestamp REAL NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS logs_by_time ON logs (timestamp, sequence, id);
  CREATE INDEX IF NOT EXISTS logs_by_function ON logs (function_name, timestamp, sequence, id);
  CREATE INDEX IF NOT EXISTS logs_by_request ON logs (request_id);
`;
/**
 * The two budgets of a function: refused calls cost their callers nothing, so that many of them must not push out what
 * the function's own calls left (S8).
 */
const BUDGETS = ["level <> 'exec_reject'", "level = 'exec_reject'"];
const COLUMNS = 'id, function_name AS functionName, request_id AS requestId, level, message, args, sequence, timestamp';

/** The size of the write-ahead log between transactions. */
const JOURNAL_BYTES = 4 * 1024 * 1024;

/** The limits of the database. */
export interface LogBounds {
  /** Of the newest entries of a function, and of its refused calls. */
  maxPerFunction: number;
  /** Of the file, in addition to the running transaction. */
  maxBytes: number;
}

/** The table of log entries. Synchronous, as node:sqlite is, so it runs in a worker thread. */
export class LogDatabase {
  readonly ledger: LedgerTables;
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  /** Entries inserted since a function was last trimmed. */
  readonly #untrimmed = new Map<string, number>();
  readonly #size: LogSize;
  #maxPerFunction: number;

  /** @param file path, or `:memory:`. */
  constructor(file: string, { maxPerFunction, maxBytes }: LogBounds) {
    this.#database = new DatabaseSync(file);
    try {
      // A lost last batch is fine for logs; waiting for the disk at each is not.
      this.#database.exec(
        `PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${JOURNAL_BYTES};`,
      );
      this.#database.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000;');
      this.#database.exec(SCHEMA);
      this.ledger = new LedgerTables(this.#database);
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#insert = this.#database.prepare(
      'INSERT INTO logs (function_name, request_id, level, message, args, sequence, timestamp) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#size = new LogSize(this.#database, maxBytes);
    this.#maxPerFunction = maxPerFunction;
  }

  /**
   * Makes room where the database is full, inserts all entries or none, then trims the functions that wrote much:
   * nothing grows without bound between two sweeps.
   */
  write(entries: readonly LogEntry[]): void {
    this.#size.enforce();
    transaction(this.#database, () => {
      for (const entry of entries) {
        const { functionName, requestId, level, message, args, sequence, timestamp } = entry;
        this.#insert.run(functionName, requestId, level, message, args, sequence, timestamp);
        this.#untrimmed.set(functionName, (this.#untrimmed.get(functionName) ?? 0) + 1);
      }
      for (const [name, count] of this.#untrimmed) {
        if (count >= this.#maxPerFunction) this.#trimFunction(name);
      }
    });
  }

  query(query: LogQuery): StoredLogEntry[] {
    const { clause, values } = filterOf(query);
    const sql = `SELECT ${COLUMNS} FROM logs ${clause} ORDER BY timestamp DESC, sequence DESC, id DESC LIMIT ?`;
    return this.#database.prepare(sql).all(...values, query.limit) as unknown as StoredLogEntry[];
  }

  knows(functionName: string): boolean {
    return this.#database.prepare('SELECT 1 FROM logs WHERE function_name = ? LIMIT 1').get(functionName) !== undefined;
  }

  /** @param oldest milliseconds since 1970; older entries are removed. Undefined keeps them for ever. */
  trim(maxPerFunction: number, oldest: number | undefined): void {
    this.#maxPerFunction = maxPerFunction;
    transaction(this.#database, () => {
      if (oldest !== undefined) this.#database.prepare('DELETE FROM logs WHERE timestamp < ?').run(oldest);
      const names = this.#database.prepare('SELECT DISTINCT function_name AS name FROM logs').all() as {
        name: string;
      }[];
      for (const { name } of names) this.#trimFunction(name);
    });
  }

  close(): void {
    this.#database.close();
  }

  #trimFunction(name: string): void {
    this.#untrimmed.delete(name);
    for (const budget of BUDGETS) {
      const sql = `DELETE FROM logs WHERE function_name = ?1 AND ${budget} AND (timestamp, sequence, id) <= (
        SELECT timestamp, sequence, id FROM logs WHERE function_name = ?1 AND ${budget}
        ORDER BY timestamp DESC, sequence DESC, id DESC LIMIT 1 OFFSET ?2)`;
      this.#database.prepare(sql).run(name, this.#maxPerFunction);
    }
  }
}

function filterOf({ functionName, requestId, levels, after }: LogQuery): ReturnType<typeof where> {
  return where(
    ['function_name = ?', functionName],
    ['request_id = ?', requestId],
    levels && [`level IN (${levels.map(() => '?').join(', ')})`, ...levels],
    ['(timestamp, sequence, id) < (?, ?, ?)', after?.timestamp, after?.sequence, after?.id],
  );
}

import { DatabaseSync } from 'node:sqlite';
import type { SQLInputValue } from 'node:sqlite';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { LedgerTables } from '../key-ledger/ledger-tables.ts';
import { transaction } from '@wherry/service/transaction.ts';
import { followLogs, newestId, queryLogs } from './log-queries.ts';
import { prepareSchema, removeEmptySpans } from './log-schema.ts';
import { LogSize } from './log-size.ts';
import { LogWriter } from './log-writer.ts';
import type { FollowedLogs, FollowQuery, LogQuery, StoredLogEntry } from './telemetry-store.ts';

/**
 * The two budgets of a function: refused calls cost their callers nothing, so that many of them must not push out what
 * the function's own calls left (S8).
 */
const BUDGETS = ["level <> 'exec_reject'", "level = 'exec_reject'"];
/** Entries that one operation removes: whatever else waits for the thread comes in between. */
const REMOVED_AT_ONCE = 2000;
/** KiB of the file in memory: with SQLite's own 2 MiB, each removed entry would read several pages. */
const CACHE_KIB = 32_768;

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
  readonly #writer: LogWriter;
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
      this.#database.exec(
        `PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -${CACHE_KIB};`,
      );
      prepareSchema(this.#database);
      this.ledger = new LedgerTables(this.#database);
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#writer = new LogWriter(this.#database);
    this.#size = new LogSize(this.#database, maxBytes);
    this.#maxPerFunction = maxPerFunction;
  }

  /**
   * Makes room where the database is nearly full, inserts all entries or none, then trims the functions that wrote much:
   * nothing grows without bound between two sweeps.
   */
  write(entries: readonly LogEntry[]): void {
    // Twice as many as come: so it is rarely full, and what else waits for the thread comes in between.
    this.#size.enforce(2 * entries.length);
    transaction(this.#database, () => {
      this.#writer.insert(entries);
      for (const { functionName } of entries)
        this.#untrimmed.set(functionName, (this.#untrimmed.get(functionName) ?? 0) + 1);
      for (const [name, count] of this.#untrimmed) {
        if (count >= this.#maxPerFunction) this.#trimFunction(name);
      }
    });
  }

  query(query: LogQuery): StoredLogEntry[] {
    return queryLogs(this.#database, query);
  }

  follow(query: FollowQuery): FollowedLogs {
    return followLogs(this.#database, query);
  }

  newest(): number {
    return newestId(this.#database);
  }

  knows(functionName: string): boolean {
    return this.#database.prepare('SELECT 1 FROM logs WHERE function_name = ? LIMIT 1').get(functionName) !== undefined;
  }

  /** Removes some entries of a function, up to an id. @returns how many; 0 where none is left. */
  deleteSome(functionName: string, until: number): number {
    const sql = `DELETE FROM logs WHERE id IN (
      SELECT id FROM logs INDEXED BY logs_of_function WHERE function_name = ? AND id <= ? LIMIT ${REMOVED_AT_ONCE})`;
    return this.#remove(sql, functionName, until);
  }

  /**
   * Removes some of what is too old or too much.
   * @param oldest milliseconds since 1970; older entries are removed. Undefined keeps them for ever.
   * @returns whether more may be left to remove.
   */
  trim(maxPerFunction: number, oldest: number | undefined): boolean {
    this.#maxPerFunction = maxPerFunction;
    return transaction(this.#database, () => {
      let removed = oldest === undefined ? 0 : this.#removeOlder(oldest);
      for (const name of this.#functionNames()) {
        if (removed >= REMOVED_AT_ONCE) return true;
        removed += this.#trimFunction(name);
      }
      if (removed >= REMOVED_AT_ONCE) return true;
      removeEmptySpans(this.#database);
      return false;
    });
  }

  close(): void {
    this.#database.close();
  }

  /** Each name is one look into the index, however many entries it has. */
  #functionNames(): string[] {
    const sql = `WITH RECURSIVE names (name) AS (
      SELECT MIN(function_name) FROM logs
      UNION ALL SELECT (SELECT MIN(function_name) FROM logs WHERE function_name > name) FROM names WHERE name IS NOT NULL
    ) SELECT name FROM names WHERE name IS NOT NULL`;
    return this.#database
      .prepare(sql)
      .all()
      .map(({ name }) => String(name));
  }

  #removeOlder(oldest: number): number {
    const sql = `DELETE FROM logs WHERE id IN (
      SELECT id FROM logs WHERE timestamp < ? ORDER BY timestamp LIMIT ${REMOVED_AT_ONCE})`;
    return this.#remove(sql, oldest);
  }

  #trimFunction(name: string): number {
    this.#untrimmed.delete(name);
    let removed = 0;
    for (const budget of BUDGETS) {
      const sql = `DELETE FROM logs WHERE id IN (
        SELECT id FROM logs INDEXED BY logs_of_function WHERE function_name = ?1 AND ${budget} AND (timestamp, sequence, id) <= (
          SELECT timestamp, sequence, id FROM logs INDEXED BY logs_of_function WHERE function_name = ?1 AND ${budget}
          ORDER BY timestamp DESC, sequence DESC, id DESC LIMIT 1 OFFSET ?2)
        ORDER BY timestamp, sequence, id LIMIT ${2 * REMOVED_AT_ONCE})`;
      removed += this.#remove(sql, name, this.#maxPerFunction);
    }
    return removed;
  }

  /** @returns how many rows the statement itself removed, without those of its trigger. */
  #remove(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#database.prepare(sql).run(...values).changes);
  }
}

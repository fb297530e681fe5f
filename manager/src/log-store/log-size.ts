import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '@wherry/service/transaction.ts';
import { fairShare } from '@wherry/service/fair-share.ts';

/** From this part of the limit on, entries are removed, a few with each write, */
const BEGIN = 15 / 16;
/** until this part is left: not every write has to sum up all entries. */
const KEPT = 7 / 8;
/** How much is summed up anew within one write: a page is free only when the last of its rows is removed. */
const MAX_ROUNDS = 8;
/** What an entry takes beside its texts. */
const LEAST_BYTES = 300;
/** Of an entry, as it counts here: its texts, without reading them, and what its other columns and indexes take. */
const ROW_BYTES = `(octet_length(message) + COALESCE(octet_length(args), 0) + 4 * octet_length(function_name) + ${LEAST_BYTES})`;
/** Entries that one step removes where the database is over its limit. */
const MOST_AT_ONCE = 2000;
/** Of the entries that one step removes: twice a batch. */
const STEP_BYTES = 8 * 1024 * 1024;
/** Refused calls have a budget of their own. */
const IS_REFUSAL = "(level = 'exec_reject')";

interface Budget {
  name: string;
  refusal: number;
  bytes: number;
}

/**
 * Keeps the log database within a size: when it is nearly full, the oldest entries of the functions with more than
 * their share are removed, so that one function's entries displace none of a function that has few (S8, M10). Freed
 * pages are reused, so the file does not grow beyond its limit by more than the transaction that filled it.
 */
export class LogSize {
  readonly #database: DatabaseSync;
  readonly #maxBytes: number;
  /** What is still to be removed, since entries were last summed up. */
  #surplus: Budget[] = [];

  constructor(database: DatabaseSync, maxBytes: number) {
    this.#database = database;
    this.#maxBytes = maxBytes;
  }

  /**
   * Removes some entries where the database is nearly full, and as many as it takes where it is over its limit. Call it
   * outside a transaction.
   * @param entries how many are removed at most where it is not over its limit.
   */
  enforce(entries: number): void {
    if (this.#used() <= this.#maxBytes * KEPT) this.#surplus = [];
    else if (this.#surplus.length === 0 && this.#used() > this.#maxBytes * BEGIN) this.#surplus = this.#sumUp(KEPT);
    transaction(this.#database, () => this.#step(entries));
    for (let round = 0; this.#used() > this.#maxBytes && round < MAX_ROUNDS; round += 1) {
      if (this.#surplus.length === 0) this.#surplus = this.#sumUp(KEPT ** (round + 1));
      while (this.#surplus.length > 0 && this.#used() > this.#maxBytes)
        transaction(this.#database, () => this.#step(MOST_AT_ONCE));
    }
    const pages = this.#pragma('page_count') - Math.floor(this.#maxBytes / this.#pragma('page_size'));
    if (pages > 0) this.#shrink(pages);
  }

  #used(): number {
    return (this.#pragma('page_count') - this.#pragma('freelist_count')) * this.#pragma('page_size');
  }

  /** What is to be removed so that a part of the limit is left. */
  #sumUp(kept: number): Budget[] {
    const sql = `SELECT function_name AS name, ${IS_REFUSAL} AS refusal, SUM(${ROW_BYTES}) AS bytes FROM logs GROUP BY 1, 2`;
    const budgets = this.#database.prepare(sql).all() as unknown as Budget[];
    const total = budgets.reduce((sum, { bytes }) => sum + bytes, 0);
    const share = fairShare(
      budgets.map(({ bytes }) => bytes),
      (total * kept * this.#maxBytes) / this.#used(),
    );
    return budgets.filter(({ bytes }) => bytes > share).map((budget) => ({ ...budget, bytes: budget.bytes - share }));
  }

  /** Removes the oldest entries of what is to be removed, of one function after the other. */
  #step(entries: number): void {
    for (let left = entries; left > 0;) {
      const budget = this.#surplus.at(-1);
      if (budget === undefined) return;
      const removed = this.#remove(budget, left);
      budget.bytes -= removed.bytes;
      if (removed.entries === 0 || budget.bytes <= 0) this.#surplus.pop();
      // Large entries: what they take is the bound.
      left = removed.bytes >= STEP_BYTES ? 0 : left - removed.entries;
    }
  }

  #remove({ name, refusal, bytes }: Budget, entries: number): { entries: number; bytes: number } {
    const sql = `DELETE FROM logs WHERE id IN (
      SELECT id FROM (
        SELECT id, own, SUM(own) OVER (ORDER BY timestamp, sequence, id) AS bytes FROM (
          SELECT id, timestamp, sequence, ${ROW_BYTES} AS own FROM logs INDEXED BY logs_of_function
          WHERE function_name = ? AND ${IS_REFUSAL} = ? ORDER BY timestamp, sequence, id LIMIT ?)
      ) WHERE bytes - own < ?) RETURNING ${ROW_BYTES} AS own`;
    const most = Math.min(bytes, STEP_BYTES);
    // No more entries than may have so many bytes are looked at.
    const looked = Math.min(entries, Math.floor(most / LEAST_BYTES) + 1);
    const removed = this.#database.prepare(sql).all(name, refusal, looked, most);
    return { entries: removed.length, bytes: removed.reduce((sum, { own }) => sum + Number(own), 0) };
  }

  /** Gives the file's last pages back: after the limit was lowered, or one transaction went over it. */
  #shrink(pages: number): void {
    // A database from before this limit: its pages can only be freed once it is rewritten.
    if (this.#pragma('auto_vacuum') === 0) this.#database.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM;');
    else this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  }
}

import type { DatabaseSync } from 'node:sqlite';
import { fairShare } from '@wherry/service/fair-share.ts';

/**
 * How much of a full database is kept: an eighth is freed at once, so that not every batch has to scan all of it.
 */
const KEPT = 7 / 8;
/** A page is free only when the last of its rows is removed, so one pass may not be enough. */
const MAX_ROUNDS = 8;
/** Of an entry, as it counts here: its texts, without reading them, and what its other columns and indexes take. */
const ROW_BYTES = '(octet_length(message) + COALESCE(octet_length(args), 0) + 4 * octet_length(function_name) + 300)';
/** Refused calls have a budget of their own. */
const IS_REFUSAL = "(level = 'exec_reject')";

interface Budget {
  name: string;
  refusal: number;
  bytes: number;
}

/**
 * Keeps the log database within a size: when it is full, the oldest entries of the functions with more than their share
 * are removed, so that one function's entries displace none of a function that has few (S8, M10). Freed pages are
 * reused, so the file does not grow beyond its limit by more than the transaction that filled it.
 */
export class LogSize {
  readonly #database: DatabaseSync;
  readonly #maxBytes: number;

  constructor(database: DatabaseSync, maxBytes: number) {
    this.#database = database;
    this.#maxBytes = maxBytes;
  }

  /** Frees space where there is none. Call it outside a transaction. */
  enforce(): void {
    for (let round = 0; this.#used() > this.#maxBytes && round < MAX_ROUNDS; round += 1)
      this.#evict(KEPT ** (round + 1));
    const pages = this.#pragma('page_count') - Math.floor(this.#maxBytes / this.#pragma('page_size'));
    if (pages > 0) this.#shrink(pages);
  }

  #used(): number {
    return (this.#pragma('page_count') - this.#pragma('freelist_count')) * this.#pragma('page_size');
  }

  #evict(kept: number): void {
    const sql = `SELECT function_name AS name, ${IS_REFUSAL} AS refusal, SUM(${ROW_BYTES}) AS bytes FROM logs GROUP BY 1, 2`;
    const budgets = this.#database.prepare(sql).all() as unknown as Budget[];
    const total = budgets.reduce((sum, { bytes }) => sum + bytes, 0);
    const share = fairShare(
      budgets.map(({ bytes }) => bytes),
      (total * kept * this.#maxBytes) / this.#used(),
    );
    const trim = this.#database.prepare(`DELETE FROM logs WHERE id IN (
      SELECT id FROM (
        SELECT id, SUM(${ROW_BYTES}) OVER (ORDER BY timestamp DESC, sequence DESC, id DESC) AS bytes
        FROM logs WHERE function_name = ?1 AND ${IS_REFUSAL} = ?2
      ) WHERE bytes > ?3)`);
    for (const { name, refusal, bytes } of budgets) if (bytes > share) trim.run(name, refusal, share);
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

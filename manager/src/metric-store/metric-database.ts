import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import type { ExecutionMetrics, MetricsBatch } from '@wherry/core/ports/telemetry.ts';
import { DurationSketch } from '@wherry/service/duration-sketch.ts';
import { transaction } from '@wherry/service/transaction.ts';
import { where } from '../sqlite-thread/where.ts';
import type { MetricTrim } from './metric-messages.ts';
import { PERIOD_MS, RESOLUTIONS, type MetricsQuery, type Resolution, type StoredMetrics } from './metric-store.ts';

/** Percentiles are stored, so that a query reads no sketch. `function_name` is empty for all functions together. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS metrics (
    resolution TEXT NOT NULL,
    function_name TEXT NOT NULL,
    period INTEGER NOT NULL,
    count INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    sum_us INTEGER NOT NULL,
    max_us INTEGER NOT NULL,
    p50_us INTEGER NOT NULL,
    p95_us INTEGER NOT NULL,
    p99_us INTEGER NOT NULL,
    bins TEXT,
    PRIMARY KEY (resolution, function_name, period)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS metrics_by_period ON metrics (resolution, period);
  CREATE INDEX IF NOT EXISTS metrics_with_sketch ON metrics (period) WHERE resolution = 'days' AND bins IS NOT NULL;
  CREATE TABLE IF NOT EXISTS senders (
    sender TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    stored_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;
const ALL = '';
const COLUMNS = `NULLIF(function_name, '${ALL}') AS functionName, period, count, errors, sum_us AS sumUs,
  max_us AS maxUs, p50_us AS p50Us, p95_us AS p95Us, p99_us AS p99Us`;

const KEY = '(resolution, function_name, period)';
const OLD_METRICS = `DELETE FROM metrics WHERE ${KEY} IN (
  SELECT resolution, function_name, period FROM metrics WHERE resolution = ? AND period < ? LIMIT ?)`;
const OLD_SKETCHES = `UPDATE metrics SET bins = NULL WHERE ${KEY} IN (
  SELECT resolution, function_name, period FROM metrics INDEXED BY metrics_with_sketch
  WHERE resolution = 'days' AND bins IS NOT NULL AND period < ? LIMIT ?)`;
const OLD_SENDERS = 'DELETE FROM senders WHERE sender IN (SELECT sender FROM senders WHERE stored_at < ? LIMIT ?)';

/** Executions of a period that are added to what is stored. */
interface Added extends Omit<ExecutionMetrics, 'minute' | 'bins'> {
  period: number;
  sketch: DurationSketch;
}

interface Row extends Omit<StoredMetrics, 'functionName'> {
  bins: string | null;
}

/** The tables of metrics. Synchronous, as node:sqlite is, so it runs in a worker thread. */
export class MetricDatabase {
  readonly #database: DatabaseSync;
  readonly #read: StatementSync;
  readonly #write: StatementSync;

  /** @param file path, or `:memory:`. */
  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    try {
      // A power cut may take the last batches, each with its sequence: what is left is consistent.
      this.#database.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;');
      this.#database.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000;');
      this.#database.exec(SCHEMA);
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#read = this.#database.prepare(
      `SELECT ${COLUMNS}, bins FROM metrics WHERE resolution = ? AND function_name = ? AND period = ?`,
    );
    this.#write = this.#database.prepare(
      `INSERT OR REPLACE INTO metrics (resolution, function_name, period, count, errors, sum_us, max_us, p50_us, p95_us, p99_us, bins)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  /**
   * Adds a batch to its minutes, hours and days, of each function and of all, or nothing of it: nothing, too, of a batch
   * that is stored already.
   */
  record({ sender, sequence, metrics }: MetricsBatch, now: number): void {
    transaction(this.#database, () => {
      const last = this.#database.prepare('SELECT sequence FROM senders WHERE sender = ?').get(sender);
      if (last !== undefined && sequence <= Number(last['sequence'])) return;
      for (const resolution of RESOLUTIONS)
        for (const added of inPeriods(metrics, resolution)) this.#add(resolution, added);
      this.#database
        .prepare('INSERT OR REPLACE INTO senders (sender, sequence, stored_at) VALUES (?, ?, ?)')
        .run(sender, sequence, Math.trunc(now));
    });
  }

  query({ resolution, of, from, until, limit }: MetricsQuery): StoredMetrics[] {
    const name = of === 'all' ? ALL : of === 'each' ? undefined : of.functionName;
    const { clause, values } = where(
      ['resolution = ?', resolution],
      name === undefined ? ['function_name <> ?', ALL] : ['function_name = ?', name],
      ['period >= ?', from],
      ['period < ?', until],
    );
    const sql = `SELECT ${COLUMNS} FROM metrics ${clause} ORDER BY function_name, period LIMIT ?`;
    const rows = this.#database.prepare(sql).all(...values, limit) as unknown as StoredMetrics[];
    return rows.map((row) => ({ ...row, functionName: row.functionName ?? undefined }));
  }

  knows(functionName: string): boolean {
    if (functionName === ALL) return false;
    const one = this.#database.prepare('SELECT 1 FROM metrics WHERE function_name = ? LIMIT 1').get(functionName);
    return one !== undefined;
  }

  /**
   * Removes some of what is old, and gives some free pages of the file back.
   * @returns whether there may be more of either.
   */
  trim({ periods, sketches, senders, limit }: MetricTrim): boolean {
    let left = limit;
    const change = (sql: string, ...values: (string | number)[]): void => {
      left -= Number(this.#database.prepare(sql).run(...values, left).changes);
    };
    transaction(this.#database, () => {
      for (const resolution of RESOLUTIONS) change(OLD_METRICS, resolution, periods[resolution]);
      change(OLD_SKETCHES, sketches);
      change(OLD_SENDERS, senders);
    });
    const before = this.#freePages();
    this.#database.exec(`PRAGMA incremental_vacuum(${limit})`);
    const after = this.#freePages();
    return left === 0 || (after > 0 && after < before);
  }

  close(): void {
    this.#database.close();
  }

  #freePages(): number {
    return Number(this.#database.prepare('PRAGMA freelist_count').get()?.['freelist_count']);
  }

  #add(resolution: Resolution, { functionName, period, sketch, ...added }: Added): void {
    const before = this.#read.get(resolution, functionName, period) as unknown as Row | undefined;
    const { count, errors, sumUs, maxUs } = before === undefined ? added : sumOf(before, added);
    // Of a day whose sketch is gone: what comes so late leaves its percentiles as they are.
    if (before?.bins === null) {
      const { p50Us, p95Us, p99Us } = before;
      this.#write.run(resolution, functionName, period, count, errors, sumUs, maxUs, p50Us, p95Us, p99Us, null);
      return;
    }
    if (before !== undefined) sketch.merge(JSON.parse(before.bins) as number[]);
    const percentiles = [0.5, 0.95, 0.99].map((quantile) => Math.min(Math.round(sketch.quantile(quantile)), maxUs));
    const bins = JSON.stringify(sketch.bins());
    this.#write.run(resolution, functionName, period, count, errors, sumUs, maxUs, ...percentiles, bins);
  }
}

type Counted = Pick<StoredMetrics, 'count' | 'errors' | 'sumUs' | 'maxUs'>;

function sumOf(one: Counted, other: Counted): Counted {
  return {
    count: one.count + other.count,
    errors: one.errors + other.errors,
    sumUs: one.sumUs + other.sumUs,
    maxUs: Math.max(one.maxUs, other.maxUs),
  };
}

/** By function and period, and for all functions together. */
function inPeriods(metrics: readonly ExecutionMetrics[], resolution: Resolution): Iterable<Added> {
  const length = PERIOD_MS[resolution];
  const periods = new Map<string, Added>();
  for (const { minute, bins, ...counted } of metrics) {
    const period = Math.floor(minute / length) * length;
    for (const functionName of [counted.functionName, ALL]) {
      const key = `${period}/${functionName}`;
      let added = periods.get(key);
      if (added === undefined)
        periods.set(
          key,
          (added = { functionName, period, count: 0, errors: 0, sumUs: 0, maxUs: 0, sketch: new DurationSketch() }),
        );
      Object.assign(added, sumOf(added, counted));
      added.sketch.merge(bins);
    }
  }
  return periods.values();
}

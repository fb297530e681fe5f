import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { MetricsBatch } from '@wherry/core/ports/telemetry.ts';
import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { StartError } from '@wherry/service/start-error.ts';
import type { DatabaseThread, ThreadDatabase } from '../sqlite-thread/database-thread.ts';
import type { MetricOperation, MetricOpening, MetricTrim } from './metric-messages.ts';
import { oldestPeriod, type MetricsQuery, type MetricStore, type StoredMetrics } from './metric-store.ts';

/** The interface specification's. */
export const MINUTES_KEPT = 60;
export const HOURS_KEPT = 24;
/** Routers give up what they could not send for a day, so a day's sketch is complete a day after it. */
export const DAYS_WITH_SKETCH = 3;
/** A router sends a batch again for a day at most. */
const SENDER_DAYS = 30;
const DAY_MS = 86_400_000;
export const TRIM_INTERVAL_MS = 3_600_000;
/** Rows that go at a time. */
const TRIM_AT_ONCE = 2000;

interface MetricStoreOptions {
  /** Path of the database. */
  file: string;
  thread: DatabaseThread;
  clock: Clock;
  logger: Logger;
}

/**
 * Opens the database of metrics, in a file of its own: neither the size limit of the logs nor their writes touch it.
 * @throws StartError when the database cannot be opened; one that is damaged is set aside with a warning.
 */
export async function openMetricStore(options: MetricStoreOptions): Promise<MetricStore> {
  const { file, thread, logger } = options;
  const opening: MetricOpening = { file };
  try {
    const database = await thread.open<MetricOperation>('metrics', opening, {
      name: 'metrics',
      logger,
      consequence: 'metrics of executions wait in the routers until the program is restarted',
    });
    const { setAside } = database;
    if (setAside !== undefined)
      logger.warn(
        { file: setAside },
        'the database of metrics was damaged: it has been set aside, and a new one started',
      );
    return new WorkerMetricStore(database, options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The database of metrics ${file} cannot be opened (${reason}): fix its permissions, or move it away.`,
      error,
    );
  }
}

class WorkerMetricStore implements MetricStore {
  readonly #database: ThreadDatabase<MetricOperation>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** One query at a time: a change, whose audit record the same thread writes, waits for one at most. */
  readonly #queries = new KeyedLock();
  #days = Number(SETTINGS['metrics.retention-days'].default);
  #cancelTrim: (() => void) | undefined;
  #isClosed = false;

  constructor(database: ThreadDatabase<MetricOperation>, { clock, logger }: MetricStoreOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#logger = logger;
    this.#trimLater();
  }

  async record(batch: MetricsBatch): Promise<void> {
    await this.#database.call({ operation: 'record', batch, now: this.#clock.now() });
  }

  async query(query: MetricsQuery): Promise<StoredMetrics[]> {
    const found = await this.#queries.run('query', () => this.#database.call({ operation: 'query', query }));
    return found as StoredMetrics[];
  }

  async knows(functionName: string): Promise<boolean> {
    return (await this.#database.call({ operation: 'knows', functionName })) as boolean;
  }

  retain(days: number): void {
    if (days === this.#days) return;
    this.#days = days;
    void this.#trim();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTrim?.();
    await this.#database.close();
  }

  /** In steps, so that a change waits for one at most. Never rejects. */
  async #trim(): Promise<void> {
    try {
      while (!this.#isClosed && (await this.#database.call({ operation: 'trim', trim: this.#old() })) === true);
    } catch (error) {
      if (!this.#isClosed) this.#logger.warn({ err: error }, 'old metrics could not be removed');
    }
    this.#trimLater();
  }

  #old(): MetricTrim {
    const now = this.#clock.now();
    return {
      periods: {
        minutes: oldestPeriod('minutes', now, MINUTES_KEPT),
        hours: oldestPeriod('hours', now, HOURS_KEPT),
        days: oldestPeriod('days', now, this.#days),
      },
      sketches: oldestPeriod('days', now, DAYS_WITH_SKETCH),
      senders: Math.trunc(now) - SENDER_DAYS * DAY_MS,
      limit: TRIM_AT_ONCE,
    };
  }

  #trimLater(): void {
    this.#cancelTrim?.();
    if (this.#isClosed || this.#database.isGone()) return;
    this.#cancelTrim = this.#clock.after(TRIM_INTERVAL_MS, () => void this.#trim());
  }
}

import { randomUUID } from 'node:crypto';
import { MAX_METRICS, type RouterUp } from '@wherry/core/feed/messages.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';
import type { ExecutionMetrics } from '@wherry/core/ports/telemetry.ts';
import { ExecutionCounter, mergeMetrics, metricsKey, type Execution } from './execution-counter.ts';

type Batch = Extract<RouterUp, { type: 'metrics' }>;

/** What waits while nothing is stored: of a function and a minute each, some 300 bytes. */
const MAX_WAITING = 20_000;
/** The store keeps the sketch of a day for longer than this after its end. */
const MAX_AGE_MS = 24 * 3_600_000;
/** How long a router that ends waits for its last batches to be stored. */
const CLOSE_MS = 2000;

interface MetricsReporterOptions {
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** How often metrics are sent. */
  intervalSeconds: () => number;
}

/**
 * Sends metrics of executions up the feed, each interval. A batch is sent again, as it was, until it is stored, and only
 * then the next: so the store recognises what it has already, and each execution counts once. What a router has not
 * sent when it dies is lost: the interval since its last batch.
 */
export class MetricsReporter {
  readonly #options: MetricsReporterOptions;
  readonly #dropped: Counter;
  readonly #sender = randomUUID();
  readonly #counter = new ExecutionCounter();
  /** By function and minute, oldest first. */
  readonly #waiting = new Map<string, ExecutionMetrics>();
  #sent: Batch | undefined;
  #sequence = 0;
  #send: ((batch: Batch) => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  /** By which the timer was set. */
  #timerMs = 0;
  #onEmpty: (() => void) | undefined;

  constructor(options: MetricsReporterOptions) {
    this.#options = options;
    this.#dropped = options.metrics.counter(METRICS.executionMetricsDropped);
  }

  /** Where batches go from now on; undefined: they wait. */
  connect(send: ((batch: Batch) => void) | undefined): void {
    this.#send = send;
    if (this.#sent !== undefined) send?.(this.#sent);
  }

  add(execution: Execution): void {
    this.#counter.add(execution);
    this.#reportLater();
  }

  /** The interval may be another one: what is counted already is sent by the new one, too. */
  followInterval(): void {
    // A timer that is due stays: the end of a minute is not put off by a message.
    if (this.#cancelTimer === undefined || this.#timerMs === this.#intervalMs()) return;
    this.#cancelTimer();
    this.#cancelTimer = undefined;
    this.#reportLater();
  }

  /** The batch of this sequence is stored. */
  stored(sequence: number): void {
    if (this.#sent?.sequence !== sequence) return;
    this.#sent = undefined;
    this.#sendNext();
    if (this.#sent === undefined) this.#onEmpty?.();
  }

  /** Sends the rest and waits, for a moment, until it is stored. */
  async close(): Promise<void> {
    const { clock, logger } = this.#options;
    this.#report();
    this.#cancelTimer?.();
    if (this.#sent !== undefined && this.#send !== undefined) {
      const empty = Promise.withResolvers<undefined>();
      this.#onEmpty = () => empty.resolve(undefined);
      const cancel = clock.after(CLOSE_MS, () => empty.resolve(undefined));
      await empty.promise;
      cancel();
    }
    const executions = countOf([...(this.#sent?.metrics ?? []), ...this.#waiting.values()]);
    if (executions > 0)
      logger.warn({ executions }, 'metrics of executions may be lost: they could not be sent in time');
  }

  /** At the next multiple of the interval, so that a minute is sent when it ends. */
  #reportLater(): void {
    if (this.#cancelTimer !== undefined) return;
    const { clock } = this.#options;
    this.#timerMs = this.#intervalMs();
    this.#cancelTimer = clock.after(this.#timerMs - (clock.now() % this.#timerMs), () => {
      this.#report();
      if (this.#sent !== undefined) this.#reportLater();
    });
  }

  #intervalMs(): number {
    return this.#options.intervalSeconds() * 1000;
  }

  #report(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const metrics of this.#counter.take()) {
      const key = metricsKey(metrics);
      const before = this.#waiting.get(key);
      this.#waiting.set(key, before === undefined ? metrics : mergeMetrics(before, metrics));
    }
    this.#dropOldest();
    if (this.#sent === undefined) this.#sendNext();
    else this.#send?.(this.#sent);
  }

  #sendNext(): void {
    const metrics = [...this.#waiting.values()].slice(0, MAX_METRICS);
    if (metrics.length === 0) return;
    for (const each of metrics) this.#waiting.delete(metricsKey(each));
    this.#sequence += 1;
    this.#sent = { type: 'metrics', sender: this.#sender, sequence: this.#sequence, metrics };
    this.#send?.(this.#sent);
  }

  #dropOldest(): void {
    const oldest = this.#options.clock.now() - MAX_AGE_MS;
    const dropped: ExecutionMetrics[] = [];
    for (const [key, metrics] of this.#waiting) {
      if (this.#waiting.size <= MAX_WAITING && metrics.minute >= oldest) break;
      this.#waiting.delete(key);
      dropped.push(metrics);
    }
    if (dropped.length > 0) this.#dropped.inc({}, countOf(dropped));
  }
}

function countOf(metrics: readonly ExecutionMetrics[]): number {
  return metrics.reduce((sum, { count }) => sum + count, 0);
}

import { isDomainError } from '@wherry/core/errors.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Histogram, Metrics } from '@wherry/core/ports/metrics.ts';
import { KeyedBackoff } from '@wherry/service/backoff.ts';
import type { Outcome } from './outcome.ts';
import { WorkQueue } from './work-queue.ts';

/** Every object is reconciled again this often, independently of the watches. */
export const RESYNC_MS = 600_000;
const FAILURE_BACKOFF = { firstMs: 100, lastMs: 60_000 };
/** Another writer was first: its change will reach our cache. */
const CONFLICT_BACKOFF = { firstMs: 5, lastMs: 1000 };

export interface ReconcileMetrics {
  total: Counter;
  duration: Histogram;
}

/** The two metrics that all controllers of a program share. */
export function createReconcileMetrics(metrics: Metrics): ReconcileMetrics {
  return {
    total: metrics.counter(METRICS.reconciles),
    duration: metrics.histogram(METRICS.reconcileDuration),
  };
}

interface ControllerOptions {
  name: string;
  /** Brings about what one object specifies. An error means a retry. */
  reconcile: (name: string) => Promise<Outcome>;
  /** The names of all objects, for the resync; leave out for no resync. */
  all?: () => Iterable<string>;
  concurrency?: number;
  clock: Clock;
  logger: Logger;
  metrics: ReconcileMetrics;
  /** 0 to 1, as Math.random. */
  random?: () => number;
}

/** Runs a reconciler over a keyed queue: a failing object never stops the others (K5). */
export interface Controller {
  /** Enqueues the object. */
  enqueue: (name: string) => void;
  start(): void;
  stop(): Promise<void>;
  /** Resolves when nothing is being reconciled and nothing waits for its turn. */
  idle(): Promise<void>;
}

export function createController(options: ControllerOptions): Controller {
  const { name: controller, reconcile, clock, metrics, random = Math.random } = options;
  const logger = options.logger.child({ controller });
  const failures = new KeyedBackoff(FAILURE_BACKOFF, random);
  const conflicts = new KeyedBackoff(CONFLICT_BACKOFF, random);
  const queue = new WorkQueue({ clock, concurrency: options.concurrency ?? 8, work });
  let cancelResync = (): void => undefined;

  async function work(key: string): Promise<number | undefined> {
    const begun = clock.monotonic();
    const { result, delay } = await attempt(key);
    metrics.total.inc({ controller, result });
    metrics.duration.observe((clock.monotonic() - begun) / 1000, { controller });
    return delay;
  }

  async function attempt(key: string): Promise<{ result: string; delay?: number }> {
    try {
      const outcome = await reconcile(key);
      failures.forget(key);
      conflicts.forget(key);
      if (outcome.type === 'requeueAfter') return { result: 'requeue_after', delay: outcome.ms };
      return { result: outcome.type };
    } catch (error) {
      // It was written by somebody else meanwhile: the watch will report the change.
      if (isDomainError(error, 'conflict')) return { result: 'conflict', delay: conflicts.failed(key) };
      const retryInMs = failures.failed(key);
      logger.warn({ err: error, object: key, retryInMs, failures: failures.failures(key) }, 'reconcile failed');
      return { result: 'error', delay: retryInMs };
    }
  }

  function resyncLater(): void {
    const { all } = options;
    if (all === undefined) return;
    cancelResync = clock.after(RESYNC_MS * (1 - random() / 10), () => {
      for (const key of all()) queue.add(key);
      resyncLater();
    });
  }

  return {
    enqueue: (key) => queue.add(key),
    start() {
      queue.start();
      resyncLater();
    },
    async stop() {
      cancelResync();
      await queue.stop();
    },
    idle: () => queue.idle(),
  };
}

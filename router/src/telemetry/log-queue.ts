import { DEFAULT_LOG_BATCH, MAX_DROPPED, type LogBatching, type RouterUp } from '@wherry/core/feed/messages.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { BatchQueue } from '@wherry/service/batch-queue.ts';
import { logEntryBytes } from '@wherry/service/log-entry-bytes.ts';
import { logEntryOwner } from '@wherry/service/log-entry-owner.ts';

type LogBatch = Extract<RouterUp, { type: 'logs' }>;

/** Of one message up the feed; the settings may say fewer. */
const BATCH = { items: 500, bytes: 1024 * 1024 };
/** How often a reader that lags is tried. */
const RETRY_MS = 50;
/** How many entries wait while nothing reads them. */
const CAPACITY = { items: 10_000, bytes: 8 * 1024 * 1024 };

/** Where batches go. */
interface LogOutlet {
  send(batch: LogBatch): void;
  /** Whether its reader lags: then entries wait here, where they are bounded. */
  isCongested(): boolean;
}

/** Collects log entries and passes them on in batches. It never blocks a call. */
export class LogQueue {
  readonly #clock: Clock;
  readonly #queue: BatchQueue<LogEntry>;
  readonly #batching: () => LogBatching;
  #outlet: LogOutlet | undefined;
  #droppedSinceBatch = 0;
  #cancelTimer: (() => void) | undefined;

  /** @param batching as the settings are now. */
  constructor(clock: Clock, metrics: Metrics, batching: () => LogBatching = () => DEFAULT_LOG_BATCH) {
    this.#clock = clock;
    this.#batching = batching;
    const dropped = metrics.counter(METRICS.routerTelemetryDropped);
    this.#queue = new BatchQueue<LogEntry>({
      capacity: CAPACITY,
      batch: BATCH,
      sizeOf: logEntryBytes,
      ownerOf: logEntryOwner,
      onDropped: (count) => {
        dropped.inc({}, count);
        this.#droppedSinceBatch += count;
      },
    });
  }

  /** Where batches go from now on; undefined: they wait. */
  connect(outlet: LogOutlet | undefined): void {
    this.#outlet = outlet;
    this.#flush();
  }

  write(entry: LogEntry): void {
    this.#queue.push(entry);
    if (this.#outlet === undefined) return;
    if (this.#queue.length % this.#batching().maxEntries === 0) this.#flush();
    else this.#flushLater();
  }

  /** Sends the rest, even to a slow reader. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sendAll();
  }

  #flushLater(ms = this.#batching().maxDelayMs): void {
    this.#cancelTimer ??= this.#clock.after(ms, () => this.#flush());
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#outlet?.isCongested() === true) this.#flushLater(RETRY_MS);
    else this.#sendAll();
  }

  #sendAll(): void {
    const { maxEntries } = this.#batching();
    while (this.#outlet !== undefined && this.#queue.length > 0) {
      const dropped = Math.min(this.#droppedSinceBatch, MAX_DROPPED);
      this.#outlet.send({ type: 'logs', entries: this.#queue.take(maxEntries), dropped });
      this.#droppedSinceBatch -= dropped;
    }
  }
}

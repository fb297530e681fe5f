import { MAX_DROPPED, type RouterUp } from '@wherry/core/feed/messages.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { BatchQueue } from '@wherry/service/batch-queue.ts';
import { logEntryBytes } from '@wherry/service/log-entry-bytes.ts';
import { logEntryOwner } from '@wherry/service/log-entry-owner.ts';

type LogBatch = Extract<RouterUp, { type: 'logs' }>;

const MAX_DELAY_MS = 50;
/** Of one message up the feed. */
const BATCH = { items: 500, bytes: 1024 * 1024 };
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
  #outlet: LogOutlet | undefined;
  #droppedSinceBatch = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, metrics: Metrics) {
    this.#clock = clock;
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
    if (this.#queue.length % BATCH.items === 0) this.#flush();
    else this.#flushLater();
  }

  /** Sends the rest, even to a slow reader. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sendAll();
  }

  #flushLater(): void {
    this.#cancelTimer ??= this.#clock.after(MAX_DELAY_MS, () => this.#flush());
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#outlet?.isCongested() === true) this.#flushLater();
    else this.#sendAll();
  }

  #sendAll(): void {
    while (this.#outlet !== undefined && this.#queue.length > 0) {
      const dropped = Math.min(this.#droppedSinceBatch, MAX_DROPPED);
      this.#outlet.send({ type: 'logs', entries: this.#queue.take(), dropped });
      this.#droppedSinceBatch -= dropped;
    }
  }
}

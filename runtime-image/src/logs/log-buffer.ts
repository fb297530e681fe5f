import type { Clock } from '@wherry/core/ports/clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { BatchQueue } from '@wherry/service/batch-queue.ts';
import { logEntryBytes } from '@wherry/service/log-entry-bytes.ts';

const FLUSH_MS = 50;
const CAPACITY = { items: 10_000, bytes: 8 * 1024 * 1024 };
/** Of one message up the feed: the operator takes no line that is much longer. */
const BATCH = { items: 500, bytes: 1024 * 1024 };

export interface LogBufferOptions {
  clock: Clock;
  /** Takes a batch, and how many entries were dropped since the last one. */
  send(entries: LogEntry[], dropped: number): void;
  /** Whether the reader lags behind; then entries wait here, where they are bounded. */
  congested(): boolean;
}

/** Log entries on their way up the feed: bounded, the oldest dropped and counted, gone within 50 ms. */
export class LogBuffer {
  readonly #options: LogBufferOptions;
  readonly #queue: BatchQueue<LogEntry>;
  #dropped = 0;
  #scheduled = false;

  constructor(options: LogBufferOptions) {
    this.#options = options;
    this.#queue = new BatchQueue<LogEntry>({
      capacity: CAPACITY,
      batch: BATCH,
      sizeOf: logEntryBytes,
      onDropped: (count) => (this.#dropped += count),
    });
  }

  add(entry: LogEntry): void {
    this.#queue.push(entry);
    this.#schedule();
  }

  /** Sends what there is, now. At the process's end also to a reader that lags. */
  flush(force = true): void {
    while ((this.#queue.length > 0 || this.#dropped > 0) && (force || !this.#options.congested())) {
      this.#options.send(this.#queue.take(), this.#dropped);
      this.#dropped = 0;
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.after(FLUSH_MS, () => {
      this.#scheduled = false;
      this.flush(false);
      if (this.#queue.length > 0) this.#schedule();
    });
  }
}

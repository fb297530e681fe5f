import { DEFAULT_LOG_BATCH, MAX_DROPPED, MAX_FOLLOWING, type LogBatching } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { BatchQueue } from '@wherry/service/batch-queue.ts';
import { logEntryBytes } from '@wherry/service/log-entry-bytes.ts';

/** How often a feed that lags is tried. */
const RETRY_MS = 50;
const CAPACITY = { items: MAX_FOLLOWING, bytes: 8 * 1024 * 1024 };
/** The size of one message on the feed, of which the settings may say fewer entries: the operator accepts no line that is much longer. */
const BATCH = { items: 500, bytes: 1024 * 1024 };

/** One message up the feed. */
interface LogBatch {
  entries: LogEntry[];
  /** Entries that were dropped since the last batch. */
  dropped: number;
  /** Sent before the last batches of a process: how many entries follow. Those that never arrive were lost. */
  following?: number;
}

interface LogBufferOptions {
  clock: Clock;
  send(batch: LogBatch): void;
  /** Whether the reader lags behind; then entries wait here, where they are bounded. */
  congested(): boolean;
}

/** Log entries on their way up the feed: bounded, with the oldest dropped and counted, and sent in batches. */
export class LogBuffer {
  /** The settings, as the feed last sent them. */
  batching: LogBatching = DEFAULT_LOG_BATCH;
  readonly #options: LogBufferOptions;
  readonly #queue: BatchQueue<LogEntry>;
  #dropped = 0;
  #cancelSend: (() => void) | undefined;
  /** A full batch is sent once what runs has yielded: who prints never waits for it. */
  #isUrgent = false;

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

  /**
   * Sends everything now, even to a slow reader, because the process ends. The number of entries goes first, in a
   * message so short that it is sent even where the rest may not be, so that the reader can count what is missing.
   */
  end(): void {
    if (this.#queue.length > 0) this.#send([], { following: this.#queue.length });
    while (!this.#isEmpty) this.#send(this.#queue.take());
  }

  get #isEmpty(): boolean {
    return this.#queue.length === 0 && this.#dropped === 0;
  }

  #send(entries: LogEntry[], more: Pick<LogBatch, 'following'> = {}): void {
    const dropped = Math.min(this.#dropped, MAX_DROPPED);
    this.#dropped -= dropped;
    this.#options.send({ entries, dropped, ...more });
  }

  #schedule(): void {
    const { maxEntries, maxDelayMs } = this.batching;
    const isCongested = this.#options.congested();
    const isFull = this.#queue.length >= maxEntries && !isCongested;
    const delayMs = isCongested ? Math.min(maxDelayMs, RETRY_MS) : maxDelayMs;
    if (this.#cancelSend !== undefined && (this.#isUrgent || !isFull)) return;
    this.#cancelSend?.();
    this.#isUrgent = isFull;
    this.#cancelSend = this.#options.clock.after(isFull ? 0 : delayMs, () => {
      this.#cancelSend = undefined;
      this.#isUrgent = false;
      while (!this.#isEmpty && !this.#options.congested()) this.#send(this.#queue.take(this.batching.maxEntries));
      if (!this.#isEmpty) this.#schedule();
    });
  }
}

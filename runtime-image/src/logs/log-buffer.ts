import type { Clock } from '@wherry/core/ports/clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

const FLUSH_MS = 50;
const MAX_ENTRIES = 10_000;
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Entries a message up the feed, and their text: the operator takes no line that is much longer. */
const BATCH = 500;
const BATCH_CHARACTERS = 1024 * 1024;

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
  #entries: LogEntry[] = [];
  #characters = 0;
  #dropped = 0;
  #scheduled = false;

  constructor(options: LogBufferOptions) {
    this.#options = options;
  }

  add(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#characters += sizeOf(entry);
    while (this.#entries.length > MAX_ENTRIES || this.#characters > MAX_CHARACTERS) this.#dropOldest();
    this.#schedule();
  }

  /** Sends what there is, now. At the process's end also to a reader that lags. */
  flush(force = true): void {
    while (this.#entries.length > 0 && (force || !this.#options.congested())) {
      this.#options.send(this.#takeBatch(), this.#dropped);
      this.#dropped = 0;
    }
  }

  #takeBatch(): LogEntry[] {
    let count = 0;
    let characters = 0;
    for (const entry of this.#entries) {
      if (count === BATCH || characters >= BATCH_CHARACTERS) break;
      count += 1;
      characters += sizeOf(entry);
    }
    this.#characters -= characters;
    return this.#entries.splice(0, count);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.after(FLUSH_MS, () => {
      this.#scheduled = false;
      this.flush(false);
      if (this.#entries.length > 0) this.#schedule();
    });
  }

  #dropOldest(): void {
    const oldest = this.#entries.shift();
    if (oldest === undefined) return;
    this.#characters -= sizeOf(oldest);
    this.#dropped += 1;
  }
}

const sizeOf = (entry: LogEntry): number => entry.message.length + (entry.args?.length ?? 0);

import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

type LogBatch = Extract<RouterUp, { type: 'logs' }>;

const MAX_DELAY_MS = 50;
const MAX_BATCH = 500;
/** What waits while nobody takes it; past that the oldest entries go, and are counted. */
const MAX_QUEUED = 10_000;
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** Where batches go. */
export interface LogOutlet {
  send(batch: LogBatch): void;
  /** Whether its reader lags: then entries wait here, where they are bounded. */
  isCongested(): boolean;
}

/** Collects log entries and hands them on in batches. It never blocks a call. */
export class LogQueue {
  readonly #clock: Clock;
  readonly #dropped: Counter;
  #outlet: LogOutlet | undefined;
  #entries: LogEntry[] = [];
  #characters = 0;
  #droppedSinceBatch = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, metrics: Metrics) {
    this.#clock = clock;
    this.#dropped = metrics.counter('telemetry_dropped_total', 'Log entries that were dropped.');
  }

  /** Where batches go from now on; undefined: they wait. */
  connect(outlet: LogOutlet | undefined): void {
    this.#outlet = outlet;
    this.#flush();
  }

  write(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#characters += sizeOf(entry);
    // Not at the limit already, so that a full queue does not shift 10,000 entries for each new one.
    if (this.#entries.length >= 2 * MAX_QUEUED || this.#characters >= 2 * MAX_CHARACTERS) this.#dropOldest();
    if (this.#outlet === undefined) return;
    if (this.#entries.length % MAX_BATCH === 0) this.#flush();
    else this.#flushLater();
  }

  /** The last of them, also to a reader that lags. */
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
    if (this.#outlet === undefined || this.#entries.length === 0) return;
    this.#dropOldest();
    const entries = this.#entries;
    this.#entries = [];
    this.#characters = 0;
    for (let at = 0; at < entries.length; at += MAX_BATCH) {
      this.#outlet.send({ type: 'logs', entries: entries.slice(at, at + MAX_BATCH), dropped: this.#droppedSinceBatch });
      this.#droppedSinceBatch = 0;
    }
  }

  #dropOldest(): void {
    let surplus = 0;
    while (this.#entries.length - surplus > MAX_QUEUED || this.#characters > MAX_CHARACTERS) {
      this.#characters -= sizeOf(this.#entries[surplus]);
      surplus += 1;
    }
    if (surplus === 0) return;
    this.#entries = this.#entries.slice(surplus);
    this.#droppedSinceBatch += surplus;
    this.#dropped.inc({}, surplus);
  }
}

const sizeOf = (entry: LogEntry | undefined): number => (entry === undefined ? 0 : entry.message.length + (entry.args?.length ?? 0));

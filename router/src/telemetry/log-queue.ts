import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

type LogBatch = Extract<RouterUp, { type: 'logs' }>;

const MAX_DELAY_MS = 50;
const MAX_BATCH = 500;
/** Entries that wait while nobody takes them; past it the oldest go, and are counted. */
const MAX_QUEUED = 10_000;

/** Collects log entries and hands them on in batches. It never blocks a call. */
export class LogQueue {
  readonly #clock: Clock;
  readonly #dropped: Counter;
  #send: ((batch: LogBatch) => void) | undefined;
  #entries: LogEntry[] = [];
  #droppedSinceBatch = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, metrics: Metrics) {
    this.#clock = clock;
    this.#dropped = metrics.counter('telemetry_dropped_total', 'Log entries that were dropped.');
  }

  /** Where batches go from now on; undefined: they wait. */
  connect(send: ((batch: LogBatch) => void) | undefined): void {
    this.#send = send;
    this.flush();
  }

  write(entry: LogEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length >= 2 * MAX_QUEUED) this.#dropOldest();
    if (this.#send === undefined) return;
    if (this.#entries.length >= MAX_BATCH) this.flush();
    else this.#cancelTimer ??= this.#clock.after(MAX_DELAY_MS, () => this.flush());
  }

  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#send === undefined || this.#entries.length === 0) return;
    if (this.#entries.length > MAX_QUEUED) this.#dropOldest();
    const entries = this.#entries;
    this.#entries = [];
    for (let at = 0; at < entries.length; at += MAX_BATCH) {
      this.#send({ type: 'logs', entries: entries.slice(at, at + MAX_BATCH), dropped: this.#droppedSinceBatch });
      this.#droppedSinceBatch = 0;
    }
  }

  /** In bulk, so that a full queue does not shift 10,000 entries for each new one. */
  #dropOldest(): void {
    const surplus = this.#entries.length - MAX_QUEUED;
    this.#entries = this.#entries.slice(surplus);
    this.#droppedSinceBatch += surplus;
    this.#dropped.inc({}, surplus);
  }
}

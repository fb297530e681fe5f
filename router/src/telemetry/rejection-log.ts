import type { Clock } from '@wherry/core/ports/clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { LAST } from './sequence.ts';
import { ROUTER_LIMITS } from '../limits.ts';

interface Window {
  readonly cancelEnd: () => void;
  single: number;
  /** By reason: those beyond, and the request id of the last one. */
  readonly more: Map<string, { count: number; requestId: string }>;
}

/**
 * Entries of refused calls: the first of a minute have one each, the others are counted and have one together for each
 * reason, when the minute is over. So refused callers fill neither the queue nor the log of a function (S8).
 */
export class RejectionLog {
  readonly #clock: Clock;
  readonly #log: (entry: LogEntry) => void;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, log: (entry: LogEntry) => void) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes the entry of one refused call. @param entry made only where it is written. */
  write(call: { functionName: string; requestId: string; reason: string }, entry: () => LogEntry): void {
    const { functionName, requestId, reason } = call;
    const window = this.#windows.get(functionName) ?? this.#begin(functionName);
    if (window.single < ROUTER_LIMITS.refusalEntries) {
      window.single++;
      this.#log(entry());
      return;
    }
    const { count } = window.more.get(reason) ?? { count: 0 };
    window.more.set(reason, { count: count + 1, requestId });
  }

  /** Writes what is counted but not yet in the log. */
  close(): void {
    for (const functionName of this.#windows.keys()) this.#end(functionName);
  }

  #begin(functionName: string): Window {
    const cancelEnd = this.#clock.after(ROUTER_LIMITS.refusalWindowMs, () => this.#end(functionName));
    const window: Window = { cancelEnd, single: 0, more: new Map() };
    this.#windows.set(functionName, window);
    return window;
  }

  #end(functionName: string): void {
    const window = this.#windows.get(functionName);
    window?.cancelEnd();
    this.#windows.delete(functionName);
    for (const [reason, { count, requestId }] of window?.more ?? []) {
      this.#log({
        functionName,
        requestId,
        level: 'exec_reject',
        message: `${count} more calls were rejected: ${reason}`,
        args: JSON.stringify({ reason, count }),
        sequence: LAST,
        timestamp: this.#clock.now(),
      });
    }
  }
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Call } from './call.ts';

/** Within this many milliseconds most calls are over. */
const GRACE_MS = 1;

/**
 * The timeouts of calls. Only calls that still run after a millisecond get a timer: one for every call would cost a
 * short call a twelfth of its time.
 */
export class Deadlines {
  readonly #clock: Clock;
  #fresh: [Call, () => void][] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls back once when the call's time is over, unless it has ended by then. */
  watch(call: Call, onTimeout: () => void): void {
    if (this.#fresh.push([call, onTimeout]) === 1) this.#clock.after(GRACE_MS, () => this.#arm());
  }

  #arm(): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const [call, onTimeout] of fresh) {
      if (call.ended) continue;
      // Whole milliseconds: Node keeps a list of timers for each duration.
      call.onceEnded(this.#clock.after(Math.ceil(call.remainingTimeMs()), onTimeout));
    }
  }
}

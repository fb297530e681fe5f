import type { Clock } from '@wherry/core/ports/clock.ts';

interface RecordBudgetOptions {
  /** Records that may come at once. */
  burst: number;
  /** Further ones per minute, for as long as the flood lasts. */
  perMinute: number;
  clock: Pick<Clock, 'monotonic'>;
}

/** Bounds the records of requests that cost their callers nothing (a token bucket). */
export class RecordBudget {
  readonly #options: RecordBudgetOptions;
  #left: number;
  #countedAt: number;

  constructor(options: RecordBudgetOptions) {
    this.#options = options;
    this.#left = options.burst;
    this.#countedAt = options.clock.monotonic();
  }

  /** Whether one more may be written. */
  take(): boolean {
    const { burst, perMinute, clock } = this.#options;
    const now = clock.monotonic();
    this.#left = Math.min(burst, this.#left + ((now - this.#countedAt) / 60_000) * perMinute);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

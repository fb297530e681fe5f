interface BackoffLimits {
  firstMs: number;
  lastMs: number;
  /**
   * What worked for this long counts as healthy: its next failure is again the first. Without it, only `reset` clears
   * the count.
   */
  healthyMs?: number;
}

/**
 * How long to wait after this many failures in a row: doubled each time up to a limit, minus a random part of up to
 * half, so that clients that failed together do not retry together.
 * @param failures from 1
 * @param random 0 to 1, as Math.random
 * @returns whole milliseconds
 */
export function backoffMs({ firstMs, lastMs }: BackoffLimits, failures: number, random: number): number {
  const whole = Math.min(lastMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(whole * (1 - random / 2));
}

/** Counts the failures in a row of one thing that is tried again and again. */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #failures = 0;

  /** @param random 0 to 1 */
  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  /** In a row, up to now. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * It failed.
   * @param heldMs how long it had worked before
   * @returns milliseconds to wait until the next attempt
   */
  failed(heldMs = 0): number {
    const { healthyMs } = this.#limits;
    if (healthyMs !== undefined && heldMs >= healthyMs) this.#failures = 0;
    this.#failures += 1;
    return backoffMs(this.#limits, this.#failures, this.#random());
  }

  /** It worked. */
  reset(): void {
    this.#failures = 0;
  }
}

/** A Backoff for each key. */
export class KeyedBackoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  readonly #backoffs = new Map<string, Backoff>();

  /** @param random 0 to 1 */
  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  failures(key: string): number {
    return this.#backoffs.get(key)?.failures ?? 0;
  }

  /** As `Backoff.failed`. */
  failed(key: string, heldMs = 0): number {
    const backoff = this.#backoffs.get(key) ?? new Backoff(this.#limits, this.#random);
    this.#backoffs.set(key, backoff);
    return backoff.failed(heldMs);
  }

  /** It worked, or is gone. */
  forget(key: string): void {
    this.#backoffs.delete(key);
  }
}

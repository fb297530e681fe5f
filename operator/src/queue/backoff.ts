export interface BackoffLimits {
  firstMs: number;
  lastMs: number;
}

/**
 * Counts the failures of each key and says how long to wait after the next: doubled each time up to a limit, less a
 * random part of up to half, so that keys that failed together do not come back together.
 */
export interface Backoff {
  /** Milliseconds to wait. */
  failed(key: string): number;
  failures(key: string): number;
  forget(key: string): void;
}

/** @param random 0 to 1, as Math.random. */
export function createBackoff({ firstMs, lastMs }: BackoffLimits, random: () => number): Backoff {
  const counts = new Map<string, number>();
  return {
    failed(key) {
      const count = counts.get(key) ?? 0;
      counts.set(key, count + 1);
      const whole = Math.min(lastMs, firstMs * 2 ** Math.min(count, 30));
      return whole * (1 - random() / 2);
    },
    failures: (key) => counts.get(key) ?? 0,
    forget: (key) => void counts.delete(key),
  };
}

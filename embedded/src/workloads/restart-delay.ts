/** Milliseconds before the replacement of an instance, by how many died in a row. */
const STEPS = [0, 200, 500, 1000, 2000, 4000, 8000, 16_000, 30_000];

/**
 * Longest wait after an instance that had been ready: what kills it is one call, and the calls after that one shall
 * find it ready within 5 s (S3). One that never gets ready may wait longer.
 */
const LOADED_CAP_MS = 2500;
const JITTER = 0.2;

/**
 * How long to wait before the next start.
 * @param deaths in a row, this one counted: 1 is replaced at once.
 * @param wasReady whether the one that died had been ready.
 * @param random from 0 to 1: spreads the starts by ± 20 %.
 */
export function restartDelay(deaths: number, wasReady: boolean, random: number): number {
  const step = STEPS[Math.min(deaths, STEPS.length) - 1] ?? 0;
  const jittered = step * (1 - JITTER + 2 * JITTER * random);
  return wasReady ? Math.min(jittered, LOADED_CAP_MS) : jittered;
}

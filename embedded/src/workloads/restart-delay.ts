import { backoffMs } from '@wherry/service/backoff.ts';

const RESTARTS = { firstMs: 250, lastMs: 30_000 };

/**
 * Longest wait after an instance that had been ready: one call killed it, and later calls must find a new one ready
 * within 5 s (S3). One that never becomes ready may wait longer.
 */
const LOADED_LAST_MS = 2500;

/**
 * How long to wait before the replacement of an instance.
 * @param deaths in a row, this one counted: 1 is replaced at once.
 * @param wasReady whether the one that died had been ready.
 * @param random from 0 to 1
 * @returns milliseconds
 */
export function restartDelay(deaths: number, wasReady: boolean, random: number): number {
  if (deaths <= 1) return 0;
  return backoffMs(wasReady ? { ...RESTARTS, lastMs: LOADED_LAST_MS } : RESTARTS, deaths - 1, random);
}

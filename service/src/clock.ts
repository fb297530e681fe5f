import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** Longest delay that Node's timers support; a longer one would fire at once. */
const MAX_DELAY_MS = 2_147_483_647;

/** How far the fine clock may be from the wall clock before it is set again. */
const MAX_DRIFT_MS = 10;
/**
 * Both are compared only when they were read together: if the process was descheduled in between, the difference means
 * nothing.
 */
const TOGETHER_MS = 1;

let origin = performance.timeOrigin;

/**
 * The wall clock with a fraction: `performance` alone would not follow a clock that is set, or a machine that slept.
 */
function now(): number {
  for (;;) {
    const before = performance.now();
    const drift = Date.now() - (origin + before);
    const after = performance.now();
    if (after - before > TOGETHER_MS) continue;
    if (Math.abs(drift) > MAX_DRIFT_MS) origin += drift;
    return origin + after;
  }
}

/** The machine's time. Its timers keep a process alive: cancel what you no longer wait for. */
export const systemClock: Clock = {
  now,
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    try {
      await delay(Math.min(ms, MAX_DELAY_MS), undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};

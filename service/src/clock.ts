import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** Longest wait that Node's timers take; a longer one would fire at once. */
const MAX_DELAY_MS = 2_147_483_647;

/** The machine's time. Its timers keep a process alive: cancel what you no longer wait for. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
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

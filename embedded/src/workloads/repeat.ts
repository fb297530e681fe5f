import type { Clock } from '@wherry/core/ports/clock.ts';

/**
 * Calls back again and again, with the milliseconds that passed. Where this process itself was stalled, most of that
 * time is left out: nobody could be heard meanwhile.
 * @returns how to stop.
 */
export function repeat(clock: Clock, intervalMs: number, callback: (elapsedMs: number) => void): () => void {
  let last = clock.monotonic();
  let cancel = clock.after(intervalMs, tick);
  function tick(): void {
    const now = clock.monotonic();
    callback(Math.min(now - last, 2 * intervalMs));
    last = now;
    cancel = clock.after(intervalMs, tick);
  }
  return () => cancel();
}

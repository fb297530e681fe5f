import type { Clock } from '@wherry/core/ports/clock.ts';

/**
 * Calls back repeatedly, with the milliseconds that passed. If this process itself was stalled, most of that time is
 * not counted, because it could receive nothing meanwhile.
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

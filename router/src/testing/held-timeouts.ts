import type { Clock } from '@wherry/core/ports/clock.ts';
import { systemClock } from '@wherry/service/clock.ts';

/** The longest timeout of a call; nothing else of a router waits so long. */
export const HELD_TIMEOUT_MS = 3_600_000;

/** The system's clock, on which only a test ends the time of calls that have this timeout. */
export class HeldTimeouts {
  /** Of each call so far: how to end its time, which does nothing once the call no longer waits for that. */
  readonly ends: (() => void)[] = [];
  readonly clock: Clock = { ...systemClock, after: (ms, callback) => this.#after(ms, callback) };

  #after(ms: number, callback: () => void): () => void {
    if (ms < HELD_TIMEOUT_MS / 2) return systemClock.after(ms, callback);
    let isOver = false;
    this.ends.push(() => {
      if (!isOver) callback();
    });
    return () => void (isOver = true);
  }
}

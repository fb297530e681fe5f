import { availableParallelism } from 'node:os';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** Limits concurrent starts: a hundred at once would all be late, and be taken for broken. */
export interface StartQueue {
  /** Runs `start` when it is its turn; the turn lasts until the promise that it returns settles, or for a second. */
  add(start: () => Promise<unknown>): void;
}

/** One that never loads (an endless loop at the top of its module) delays the others for no longer than this. */
const TURN_MS = 1000;

/** As many at once as the machine has processors, but at least two. */
export function createStartQueue(clock: Clock): StartQueue {
  const waiting: (() => Promise<unknown>)[] = [];
  let free = Math.max(2, availableParallelism());

  function next(): void {
    const start = free > 0 ? waiting.shift() : undefined;
    if (start === undefined) return;
    free -= 1;
    let over = false;
    const done = (): void => {
      if (over) return;
      over = true;
      cancel();
      free += 1;
      next();
    };
    const cancel = clock.after(TURN_MS, done);
    start().then(done, done);
  }

  return {
    add(start) {
      waiting.push(start);
      next();
    },
  };
}

import process from 'node:process';
import type { Clock } from '@wherry/core/ports/clock.ts';

interface Timer {
  due: number;
  callback: () => void;
}

/** How often `idle` lets the event loop turn without any file being read or written. */
const TURNS = 3;

/** As Node names the calls of `fs` that are under way. */
const isFileCall = (resource: string): boolean => resource.startsWith('FSReq') || resource === 'CloseReq';

/** A clock that stands still until a test advances it. */
export class FakeClock implements Clock {
  #wall: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  /** @param now milliseconds since 1970 UTC. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#wall = now;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { due: this.#monotonic + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        cancel();
        // The reason is whatever the aborter gave, as with Node's own timers.
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** How many timers are still to come. */
  get pending(): number {
    return this.#timers.size;
  }

  /**
   * Runs the timers of the next `ms` milliseconds in order, those that they start included; promises settle in between.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await this.idle();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#moveTo(timer.due);
      timer.callback();
      await this.idle();
    }
    this.#moveTo(end);
  }

  /** Advances by a tenth of a second at a time, until the promise is resolved or rejected. @returns its value. */
  async advanceUntil<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    promise.then(end, end);
    while (!isOver) await this.advance(100);
    return promise;
  }

  /** Moves the wall clock alone, as an administrator or NTP does; timers do not notice. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /**
   * Lets everything that is ready continue, without advancing time. Files count as ready, however slow the disk is:
   * what waits for one continues before this resolves. A peer's answer does not: a test awaits that itself.
   */
  async idle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) {
      if (process.getActiveResourcesInfo().some(isFileCall)) turn = -1;
      // A turn of the event loop: nothing else drains all promises.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The earliest timer, the first made of equals: a Set keeps its order. */
  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer;
    }
    return first;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

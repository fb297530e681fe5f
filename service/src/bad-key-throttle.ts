import type { Clock } from '@wherry/core/ports/clock.ts';
import { networkOf } from './network-of.ts';

/** As many invalid keys of one address are answered in a window (R10). */
export const BAD_KEYS = { most: 20, windowMs: 60_000 };
/** How many addresses are remembered; beyond it the oldest one is forgotten, so that memory is bounded. */
const MAX_ADDRESSES = 50_000;

interface Window {
  startedAt: number;
  bad: number;
}

/** Counts invalid keys by the caller's address (R10). It never limits a valid key. */
export class BadKeyThrottle {
  readonly #clock: Clock;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many addresses are remembered. */
  get addresses(): number {
    return this.#windows.size;
  }

  /**
   * Notes one more bad key from the address.
   * @returns the seconds after which to try again when there were too many; else undefined.
   */
  badKey(address: string): number | undefined {
    const now = this.#clock.monotonic();
    const network = networkOf(address);
    const window = this.#windows.get(network);
    if (window === undefined || now - window.startedAt >= BAD_KEYS.windowMs) {
      this.#windows.delete(network);
      this.#forgetOldest();
      this.#windows.set(network, { startedAt: now, bad: 1 });
      return undefined;
    }
    window.bad++;
    if (window.bad <= BAD_KEYS.most) return undefined;
    return Math.max(1, Math.ceil((window.startedAt + BAD_KEYS.windowMs - now) / 1000));
  }

  #forgetOldest(): void {
    if (this.#windows.size < MAX_ADDRESSES) return;
    const oldest = this.#windows.keys().next();
    if (oldest.done !== true) this.#windows.delete(oldest.value);
  }
}

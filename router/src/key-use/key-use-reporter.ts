import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';

type UseReport = Extract<RouterUp, { type: 'key-uses' }>;

/** A use is known within a minute, with the time that it takes up the feed. */
const INTERVAL_MS = 20_000;
/** Of one message. */
const MOST_KEYS = 2000;

/**
 * Reports to the operator when keys were last used: each key once in an interval at the most, however many calls it
 * authenticates. What cannot be sent waits: one time a key.
 */
export class KeyUseReporter {
  readonly #clock: Clock;
  readonly #uses = new Map<string, number>();
  #send: ((report: UseReport) => void) | undefined;
  #cancelTimer: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#cancelTimer = this.#clock.after(INTERVAL_MS, () => {
      this.#report();
      this.start();
    });
  }

  /** Reports the rest. */
  stop(): void {
    this.#cancelTimer();
    this.#report();
  }

  /** Where reports go from now on; undefined: they wait. */
  connect(send: ((report: UseReport) => void) | undefined): void {
    this.#send = send;
  }

  /** The key authenticated a call. @param at milliseconds since 1970 UTC. */
  note(key: string, at: number): void {
    this.#uses.set(key, at);
  }

  #report(): void {
    if (this.#send === undefined) return;
    const uses = [...this.#uses];
    this.#uses.clear();
    for (let first = 0; first < uses.length; first += MOST_KEYS)
      this.#send({ type: 'key-uses', uses: Object.fromEntries(uses.slice(first, first + MOST_KEYS)) });
  }
}

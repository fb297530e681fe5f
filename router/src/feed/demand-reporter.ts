import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { RoutedFunction } from '../state/routed-function.ts';

type Demand = Extract<RouterUp, { type: 'demand' }>;

const INTERVAL_MS = 1000;

/**
 * Reports to the operator how many calls each function has: at once when a call begins to wait for an instance, else
 * each second in which it changed. A function that is not named has none.
 */
export class DemandReporter {
  readonly #clock: Clock;
  readonly #functions: () => Iterable<RoutedFunction>;
  readonly #send: (demand: Demand) => void;
  #last = '{}';
  #isUrgent = false;
  #cancelTimer: () => void = () => undefined;

  constructor(clock: Clock, functions: () => Iterable<RoutedFunction>, send: (demand: Demand) => void) {
    this.#clock = clock;
    this.#functions = functions;
    this.#send = send;
  }

  start(): void {
    this.#cancelTimer = this.#clock.after(INTERVAL_MS, () => {
      this.#report();
      this.start();
    });
  }

  stop(): void {
    this.#cancelTimer();
  }

  /** Another operator listens, which has received nothing yet. */
  sayAgain(): void {
    this.#last = '{}';
    this.urge();
  }

  /** A call waits. Many that begin in one turn are reported together. */
  urge(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    queueMicrotask(() => {
      this.#isUrgent = false;
      this.#report();
    });
  }

  #report(): void {
    const functions: Demand['functions'] = {};
    for (const { spec, activity } of this.#functions()) {
      const waiting = activity.balancer.waiting;
      const inFlight = activity.limit.inFlight - waiting;
      if (waiting > 0 || inFlight > 0) functions[spec.id] = { inFlight, waiting };
    }
    const text = JSON.stringify(functions);
    if (text === this.#last) return;
    this.#last = text;
    this.#send({ type: 'demand', functions });
  }
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { BalancedInstance } from '../balance/balancer.ts';
import { Refusal } from '../refusal.ts';
import { failureOf, type RoutedFunction } from '../state/routed-function.ts';

/** How long a call waits for an instance to become ready, within its timeout. */
const MAX_WAIT_MS = 10_000;

export interface PlacementParts {
  clock: Clock;
  /** Notified at once when a call begins to wait for an instance. */
  onWaiting: () => void;
}

interface PlacementOptions extends PlacementParts {
  fn: RoutedFunction;
  /** The call has the instance until `release`. */
  onInstance: (instance: BalancedInstance) => void;
  onRefused: (refusal: Refusal) => void;
}

/** The instance of one call: picked, waited for, and changed once for another where it cannot take the call. */
export class Placement {
  readonly #options: PlacementOptions;
  #instance: BalancedInstance | undefined;
  #attempts = 0;
  #stopWaiting: () => void = () => undefined;

  constructor(options: PlacementOptions) {
    this.#options = options;
  }

  /** Undefined while the call waits. */
  get instance(): BalancedInstance | undefined {
    return this.#instance;
  }

  /** Instances that had it, the present one included. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Picks an instance, or waits for one. */
  find(not?: BalancedInstance): void {
    const { fn, onRefused } = this.#options;
    const instance = fn.activity.balancer.pick(not);
    const failure = failureOf(fn.spec);
    if (instance !== undefined) this.#take(instance);
    else if (failure !== undefined) onRefused(failure);
    else this.#wait(not);
  }

  /** The instance could not be reached: the call goes elsewhere, and waits where there is nobody else. */
  findOther(): void {
    const unreachable = this.#instance;
    this.release();
    this.find(unreachable);
  }

  /** The instance has no slot: another one takes the call now. @returns whether there was one. */
  moveOn(): boolean {
    const other = this.#options.fn.activity.balancer.pick(this.#instance);
    if (other === undefined) return false;
    this.release();
    this.#take(other);
    return true;
  }

  /** Gives the instance back, and waits no longer. */
  release(): void {
    this.#stopWaiting();
    if (this.#instance !== undefined) this.#instance.inFlight--;
    this.#instance = undefined;
  }

  #take(instance: BalancedInstance): void {
    this.#attempts++;
    this.#instance = instance;
    instance.inFlight++;
    this.#options.onInstance(instance);
  }

  #wait(not: BalancedInstance | undefined): void {
    const { fn, clock, onRefused, onWaiting } = this.#options;
    const leaveQueue = fn.activity.balancer.wait(
      {
        take: (instance) => {
          this.#stopWaiting();
          this.#take(instance);
        },
        refuse: onRefused,
      },
      not,
    );
    const cancelBound = clock.after(MAX_WAIT_MS, () => onRefused(noInstance()));
    this.#stopWaiting = () => {
      leaveQueue();
      cancelBound();
    };
    onWaiting();
  }
}

/** Nobody took the call in time. */
export function noInstance(): Refusal {
  return new Refusal('no_instance', ['Retry-After', '1']);
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { BalancedInstance } from '../balance/balancer.ts';
import { Refusal } from '../refusal.ts';
import { failureOf, type RoutedFunction } from '../state/routed-function.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** Packages may take longer to install than a call waits: what is missing then is not an instance. */
const NO_REVISION_YET = 'The first revision of this function is still being built and started. Try again shortly.';

export interface PlacementParts {
  clock: Clock;
  /** Notified at once when a call begins to wait for an instance. */
  onWaiting: () => void;
}

/** The call whose instance it is. */
export interface PlacedCall {
  /** The call keeps the instance until `release`. */
  onInstance(instance: BalancedInstance): void;
  onRefused(refusal: Refusal): void;
}

/** The instance of one call: picked, waited for, and replaced once where it cannot take the call. */
export class Placement {
  readonly #fn: RoutedFunction;
  readonly #parts: PlacementParts;
  readonly #call: PlacedCall;
  #instance: BalancedInstance | undefined;
  #attempts = 0;
  #stopWaiting: (() => void) | undefined;

  constructor(fn: RoutedFunction, parts: PlacementParts, call: PlacedCall) {
    this.#fn = fn;
    this.#parts = parts;
    this.#call = call;
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
    const instance = this.#fn.activity.balancer.pick(not);
    if (instance !== undefined) {
      this.#take(instance);
      return;
    }
    const failure = failureOf(this.#fn.spec);
    if (failure === undefined) this.#wait(not);
    else this.#call.onRefused(failure);
  }

  /** The instance could not be reached: the call goes to another instance, or waits for one. */
  findOther(): void {
    const unreachable = this.#instance;
    this.release();
    this.find(unreachable);
  }

  /** The instance has no slot: another one takes the call now. @returns whether there was one. */
  moveOn(): boolean {
    const other = this.#fn.activity.balancer.pick(this.#instance);
    if (other === undefined) return false;
    this.release();
    this.#take(other);
    return true;
  }

  /** Gives the instance back, and waits no longer. */
  release(): void {
    this.#stopWaiting?.();
    if (this.#instance !== undefined) this.#instance.inFlight--;
    this.#instance = undefined;
  }

  #take(instance: BalancedInstance): void {
    this.#attempts++;
    this.#instance = instance;
    instance.inFlight++;
    this.#call.onInstance(instance);
  }

  #wait(not: BalancedInstance | undefined): void {
    const leaveQueue = this.#fn.activity.balancer.wait(
      {
        take: (instance) => {
          this.#stopWaiting?.();
          this.#take(instance);
        },
        refuse: (refusal) => this.#call.onRefused(refusal),
      },
      not,
    );
    const cancelBound = this.#parts.clock.after(ROUTER_LIMITS.instanceWaitMs, () =>
      this.#call.onRefused(noInstance(this.#fn)),
    );
    this.#stopWaiting = () => {
      leaveQueue();
      cancelBound();
    };
    this.#parts.onWaiting();
  }
}

/** No instance took the call in time. */
export function noInstance({ spec }: RoutedFunction): Refusal {
  return new Refusal('no_instance', ['Retry-After', '1'], spec.revision === null ? NO_REVISION_YET : undefined);
}

import type { RouterInstance } from '@wherry/core/feed/messages.ts';
import type { Upstream, UpstreamAddress } from '../upstream/upstream.ts';
import type { Refusal } from '../refusal.ts';

/** An instance as the router uses it. */
export interface BalancedInstance {
  readonly id: string;
  readonly revision: string;
  readonly token: string;
  readonly upstream: Upstream;
  inFlight: number;
}

export type OpenUpstream = (address: UpstreamAddress) => Upstream;

/** A call that waits for an instance. One of the two is called, once. */
interface Waiter {
  take(instance: BalancedInstance): void;
  refuse(refusal: Refusal): void;
}

/** The ready instances of one function, and the calls that wait for one. */
export class Balancer {
  readonly #open: OpenUpstream;
  #instances: BalancedInstance[] = [];
  /** Calls at once over all instances; null: no limit. */
  #max: number | null = null;
  #next = 0;
  readonly #waiters = new Map<Waiter, BalancedInstance | undefined>();

  constructor(open: OpenUpstream) {
    this.#open = open;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Applies the state from the feed. An instance that stays keeps its connections; one that has left finishes its
   * calls.
   * @param max the function's `maxConcurrency`.
   */
  update(instances: readonly RouterInstance[], max: number | null): void {
    this.#max = max;
    const left = new Map(this.#instances.map((instance) => [instance.id, instance]));
    this.#instances = instances.toSorted(byId).map((wanted) => {
      const known = left.get(wanted.id);
      left.delete(wanted.id);
      if (known !== undefined) return known;
      const { id, revision, token } = wanted;
      return { id, revision, token, upstream: this.#open(wanted.address), inFlight: 0 };
    });
    for (const instance of left.values()) void instance.upstream.close();
    this.#serveWaiters();
  }

  /**
   * How many calls the instance may answer at once. All routers compute it alike, so that together they keep to the
   * function's limit: the limit is distributed among the instances in the order of their ids.
   */
  slotsOf(instance: BalancedInstance): number | undefined {
    return this.#max === null ? undefined : this.#shareOf(this.#instances.indexOf(instance), this.#max);
  }

  /** The ready instance with the fewest calls in flight, among those that may have one more; equals take turns. */
  pick(not?: BalancedInstance): BalancedInstance | undefined {
    let best: BalancedInstance | undefined;
    this.#next = (this.#next + 1) % Math.max(1, this.#instances.length);
    for (let offset = 0; offset < this.#instances.length; offset++) {
      const at = (this.#next + offset) % this.#instances.length;
      const instance = this.#instances[at];
      if (instance === undefined || instance === not) continue;
      if (this.#max !== null && instance.inFlight >= this.#shareOf(at, this.#max)) continue;
      if (best === undefined || instance.inFlight < best.inFlight) best = instance;
    }
    return best;
  }

  /** Notifies the waiter when an instance (but `not`) becomes ready, or that none will. @returns how to give up. */
  wait(waiter: Waiter, not?: BalancedInstance): () => void {
    this.#waiters.set(waiter, not);
    return () => void this.#waiters.delete(waiter);
  }

  /** No instance will come: rejects the calls that wait for one. */
  refuseWaiters(refusal: Refusal): void {
    const refused = [...this.#waiters.keys()];
    this.#waiters.clear();
    for (const waiter of refused) waiter.refuse(refusal);
  }

  /** Closes all connections. */
  async destroy(): Promise<void> {
    await Promise.all(this.#instances.map((instance) => instance.upstream.destroy()));
  }

  #shareOf(at: number, max: number): number {
    const count = this.#instances.length;
    return Math.floor(max / count) + (at < max % count ? 1 : 0);
  }

  #serveWaiters(): void {
    for (const [waiter, not] of this.#waiters) {
      const instance = this.pick(not);
      if (instance === undefined) continue;
      this.#waiters.delete(waiter);
      waiter.take(instance);
    }
  }
}

function byId(a: RouterInstance, b: RouterInstance): number {
  return a.id < b.id ? -1 : 1;
}

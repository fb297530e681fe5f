import type { RouterInstance } from '@wherry/core/feed/messages.ts';
import type { Upstream, UpstreamAddress } from '../forward/upstream.ts';

/** An instance as the router uses it. */
export interface Instance {
  readonly id: string;
  readonly revision: string;
  readonly token: string;
  readonly upstream: Upstream;
  inFlight: number;
}

export type OpenUpstream = (address: UpstreamAddress) => Upstream;

/** A call that waits for an instance. */
interface Waiter {
  not: Instance | undefined;
  take(instance: Instance): void;
}

/** The ready instances of one function, and the calls that wait for one. */
export class Balancer {
  readonly #open: OpenUpstream;
  #instances: Instance[] = [];
  #next = 0;
  readonly #waiters = new Set<Waiter>();

  constructor(open: OpenUpstream) {
    this.#open = open;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Takes over what the feed says. An instance that stays keeps its connections; one that left finishes its calls.
   */
  update(instances: readonly RouterInstance[]): void {
    const left = new Map(this.#instances.map((instance) => [instance.id, instance]));
    this.#instances = instances.map((wanted) => {
      const known = left.get(wanted.id);
      left.delete(wanted.id);
      if (known !== undefined) return known;
      const { id, revision, token } = wanted;
      return { id, revision, token, upstream: this.#open(wanted.address), inFlight: 0 };
    });
    for (const instance of left.values()) void instance.upstream.close();
    this.#serveWaiters();
  }

  /** The ready instance with the fewest calls in flight; equals take turns. */
  pick(not?: Instance): Instance | undefined {
    let best: Instance | undefined;
    this.#next = (this.#next + 1) % Math.max(1, this.#instances.length);
    for (let offset = 0; offset < this.#instances.length; offset++) {
      const instance = this.#instances[(this.#next + offset) % this.#instances.length];
      if (instance === undefined || instance === not) continue;
      if (best === undefined || instance.inFlight < best.inFlight) best = instance;
    }
    return best;
  }

  /** Calls `take` once when an instance (but `not`) becomes ready. @returns how to give up. */
  wait(take: (instance: Instance) => void, not?: Instance): () => void {
    const waiter: Waiter = { not, take };
    this.#waiters.add(waiter);
    return () => void this.#waiters.delete(waiter);
  }

  /** Gives up all connections. */
  async destroy(): Promise<void> {
    await Promise.all(this.#instances.map((instance) => instance.upstream.destroy()));
  }

  #serveWaiters(): void {
    for (const waiter of this.#waiters) {
      const instance = this.pick(waiter.not);
      if (instance === undefined) continue;
      this.#waiters.delete(waiter);
      waiter.take(instance);
    }
  }
}

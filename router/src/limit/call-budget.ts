import { networkOf } from '@wherry/service/network-of.ts';

/** A caller may have this many times as many calls as there is room left. */
const CLIENT_SHARE = 3;

/**
 * The calls that the router holds at once, running and waiting (R12). Each function may have as many as there is room
 * left, each caller three times as many: so one function takes half of all at most, two take a third each, and however
 * many take all that they can get, they leave room for others.
 */
export class CallBudget {
  readonly #total: number;
  #inFlight = 0;
  /**
   * The slot is held until the caller has read the answer, which takes longer than the function runs, because unread
   * data uses memory too.
   */
  readonly #byOwner = new WeakMap<object, number>();
  readonly #byClient = new Map<string, number>();

  constructor(total: number) {
    this.#total = total;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * @param owner whose calls share a part of the budget: a function, or the management API behind equal ports.
   * @param client the caller's address.
   * @returns a function that releases the slot, to be called once; undefined if there is none.
   */
  acquire(owner: object, client: string): (() => void) | undefined {
    const network = networkOf(client);
    const free = this.#total - this.#inFlight;
    const ofOwner = this.#byOwner.get(owner) ?? 0;
    const ofClient = this.#byClient.get(network) ?? 0;
    if (ofOwner >= free || ofClient >= CLIENT_SHARE * free) return undefined;
    this.#inFlight++;
    this.#byOwner.set(owner, ofOwner + 1);
    this.#byClient.set(network, ofClient + 1);
    return () => this.#release(owner, network);
  }

  #release(owner: object, network: string): void {
    this.#inFlight--;
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) - 1);
    const left = (this.#byClient.get(network) ?? 0) - 1;
    if (left > 0) this.#byClient.set(network, left);
    else this.#byClient.delete(network);
  }
}

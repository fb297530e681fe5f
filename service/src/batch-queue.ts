import { fairShare } from './fair-share.ts';

/** A bound of both. */
interface Bounds {
  items: number;
  bytes: number;
}

interface BatchQueueOptions<T> {
  /** What waits at most. */
  capacity: Bounds;
  /** What a batch holds at most. */
  batch: Bounds;
  /** Bytes of an item as it is sent. */
  sizeOf: (item: T) => number;
  /**
   * The owner of an item: an owner with many items takes no room from one with few. Without it, all items have one
   * owner.
   */
  ownerOf?: (item: T) => string;
  onDropped?: (count: number) => void;
}

interface Slot<T> {
  readonly item: T;
  readonly owner: string;
  readonly bytes: number;
}

/**
 * How much of a full queue is kept: an eighth is freed at once, so that not every new item requires a scan of all of
 * them.
 */
const KEPT = 7 / 8;

/**
 * A queue for what is sent in batches, in order, bounded by count and by bytes. When it is full, the oldest items of
 * the owners with more than their share are dropped. An item that fits no batch is dropped at once.
 */
export class BatchQueue<T> {
  readonly #options: BatchQueueOptions<T>;
  /** What an item costs of the capacity at least, so that one measure bounds bytes and count. */
  readonly #leastCost: number;
  #waiting: Slot<T>[] = [];
  /** Of all that wait. */
  #cost = 0;

  constructor(options: BatchQueueOptions<T>) {
    this.#options = options;
    this.#leastCost = Math.floor(options.capacity.bytes / options.capacity.items);
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(item: T): void {
    const slot = this.#slot(item);
    if (slot.bytes > this.#options.batch.bytes) {
      this.#options.onDropped?.(1);
      return;
    }
    this.#waiting.push(slot);
    this.#cost += this.#costOf(slot.bytes);
    this.#evict();
  }

  /** The oldest items, as many as a batch holds, or fewer; empty when none waits. */
  take(maxItems = Infinity): T[] {
    const { batch } = this.#options;
    let count = 0;
    let bytes = 0;
    for (const slot of this.#waiting) {
      bytes += slot.bytes;
      if (count === batch.items || count === maxItems || bytes > batch.bytes) break;
      count += 1;
      this.#cost -= this.#costOf(slot.bytes);
    }
    return this.#waiting.splice(0, count).map(({ item }) => item);
  }

  /** Items of a batch that could not be sent wait again, before all others. */
  putBack(items: readonly T[]): void {
    const slots = items.map((item) => this.#slot(item));
    for (const { bytes } of slots) this.#cost += this.#costOf(bytes);
    this.#waiting = [...slots, ...this.#waiting];
    this.#evict();
  }

  #slot(item: T): Slot<T> {
    const { sizeOf, ownerOf } = this.#options;
    return { item, owner: ownerOf?.(item) ?? '', bytes: sizeOf(item) };
  }

  #costOf(bytes: number): number {
    return Math.max(bytes, this.#leastCost);
  }

  #evict(): void {
    const { capacity, onDropped } = this.#options;
    if (this.#cost <= capacity.bytes && this.#waiting.length <= capacity.items) return;
    const costs = new Map<string, number>();
    for (const { owner, bytes } of this.#waiting) costs.set(owner, (costs.get(owner) ?? 0) + this.#costOf(bytes));
    const share = fairShare(costs.values(), capacity.bytes * KEPT);
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter(({ owner, bytes }) => {
      const cost = costs.get(owner) ?? 0;
      if (cost <= share) return true;
      costs.set(owner, cost - this.#costOf(bytes));
      this.#cost -= this.#costOf(bytes);
      return false;
    });
    onDropped?.(before - this.#waiting.length);
  }
}

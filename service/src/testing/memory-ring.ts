import type { Clock } from '@wherry/core/ports/clock.ts';
import { Listeners } from '../listeners.ts';
import { newKey } from '../keys/keys-json.ts';
import type { RingStorage } from '../keys/ring-storage.ts';
import type { Ring } from '../keys/ring-transitions.ts';

/** A ring in memory, for tests. */
export class MemoryRing implements RingStorage {
  /** Runs before each change; what it throws keeps the change from being made. */
  beforeChange: () => void | Promise<void> = () => undefined;
  #ring: Ring;
  readonly #listeners = new Listeners<[]>((error) => {
    throw error;
  });

  constructor(clock: Pick<Clock, 'now'>) {
    this.#ring = { format: 1, current: 1, keys: [newKey(1, clock.now())] };
  }

  ring(): Ring {
    return this.#ring;
  }

  async change(decide: (ring: Ring) => Ring): Promise<Ring> {
    await this.beforeChange();
    const next = decide(this.#ring);
    if (next === this.#ring) return next;
    this.#ring = next;
    this.#listeners.notify();
    return next;
  }

  onChange(callback: () => void): () => void {
    return this.#listeners.add(callback);
  }

  missed(): void {
    // There is no other program.
  }
}

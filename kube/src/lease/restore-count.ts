import type { Logger } from '@wherry/core/ports/logger.ts';
import type { StoreRestores } from '@wherry/core/ports/store-restores.ts';
import { Listeners } from '@wherry/service/listeners.ts';

/** A Lease, as far as it counts. */
interface Counted {
  /** The resourceVersion, an integer. */
  version: string;
  restores: number;
}

/**
 * Counts by the Lease (ADR 19). Every read of it is consistent, so that a version or a count lower than one that was
 * seen before proves that the store was restored. Does no I/O: the code that reads and writes the Lease reports to it.
 */
export class RestoreCount implements StoreRestores {
  readonly #listeners: Listeners<[count: number]>;
  #agreed: number | undefined;
  #version = 0n;
  #wanted = 0;
  #claimed = 0;

  constructor(logger: Logger) {
    this.#listeners = new Listeners((error) => logger.error({ err: error }, 'a restore handler threw'));
  }

  current(): number | undefined {
    return this.#agreed;
  }

  onChange(callback: (count: number) => void): () => void {
    return this.#listeners.add(callback);
  }

  claim(count: number): void {
    this.#claimed = Math.max(this.#claimed, count);
  }

  wentBack(count: number): void {
    this.#wanted = Math.max(this.#wanted, count + 1);
  }

  /** The count that the Lease must contain. */
  get wanted(): number {
    return Math.max(this.#wanted, this.#agreed ?? 0);
  }

  /** Notes a Lease that was just read or written. */
  note({ version, restores }: Counted): void {
    if (restores < this.#claimed) this.wentBack(this.#claimed);
    this.#claimed = 0;
    const agreed = this.#agreed;
    if (agreed !== undefined && (restores < agreed || (restores === agreed && BigInt(version) < this.#version)))
      return this.wentBack(agreed);
    this.#version = BigInt(version);
    this.#agreed = restores;
    if (restores !== agreed) this.#listeners.notify(restores);
  }
}

import { DomainError } from '@wherry/core/errors.ts';

/** Memory that requests share (M10). */
export class BytePool {
  readonly #most: number;
  readonly #refusal: string;
  #taken = 0;

  /**
   * @param most bytes.
   * @param refusal the message while others use it.
   */
  constructor(most: number, refusal: string) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /**
   * A request for more than the whole pool is granted while nobody else uses it.
   * @returns a function that releases it, which may be called again.
   * @throws DomainError `unavailable`.
   */
  take(bytes: number): () => void {
    if (this.#taken > 0 && this.#taken + bytes > this.#most) throw new DomainError('unavailable', this.#refusal);
    this.#taken += bytes;
    let isBack = false;
    return () => {
      if (!isBack) this.#taken -= bytes;
      isBack = true;
    };
  }
}

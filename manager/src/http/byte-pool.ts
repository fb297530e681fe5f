import { DomainError } from '@wherry/core/errors.ts';

/** Memory that requests share (M10). */
export class BytePool {
  readonly #most: number;
  readonly #refusal: string;
  #taken = 0;

  /**
   * @param most bytes.
   * @param refusal what is said while others have it.
   */
  constructor(most: number, refusal: string) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /**
   * More than the pool has is given while nobody else has any.
   * @returns how to give it back; harmless a second time.
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

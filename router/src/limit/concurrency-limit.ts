/** Counts the calls of one function over all of its instances. */
export class ConcurrencyLimit {
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  /** @param max null: no limit. @returns whether there was room; then `release` once. */
  acquire(max: number | null): boolean {
    if (max !== null && this.#inFlight >= max) return false;
    this.#inFlight++;
    return true;
  }

  release(): void {
    this.#inFlight--;
  }
}

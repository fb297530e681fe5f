/** Counts the calls of one function over all of its instances. */
export class ConcurrencyLimit {
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  /** @param max null: no limit. */
  hasCapacity(max: number | null): boolean {
    return max === null || this.#inFlight < max;
  }

  enter(): void {
    this.#inFlight++;
  }

  leave(): void {
    this.#inFlight--;
  }
}

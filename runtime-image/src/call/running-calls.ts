/** How many calls run and are being answered, and when the last one of a draining instance has ended. */
export class RunningCalls {
  draining = false;
  /** Calls whose answer is not written to its end. Unlike a call, an answer ends where its caller leaves, and waits for no `waitUntil`. */
  answering = 0;
  #count = 0;
  readonly #idle = Promise.withResolvers<void>();

  get count(): number {
    return this.#count;
  }

  began(): void {
    this.#count += 1;
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0 && this.draining) this.#idle.resolve();
  }

  /** Resolves when no call runs, once no new ones come. */
  async finished(): Promise<void> {
    if (this.#count > 0) await this.#idle.promise;
  }
}

/** How many calls run and are being answered, and when the last one of a draining instance has ended. */
export class RunningCalls {
  draining = false;
  /**
   * Calls whose answer is not written to its end. Unlike a call, an answer ends where its caller leaves, and waits for
   * no `waitUntil`.
   */
  answering = 0;
  #count = 0;
  #onIdle = (): void => undefined;

  get count(): number {
    return this.#count;
  }

  began(): void {
    this.#count += 1;
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle();
  }

  /**
   * Resolves when no call runs. Call it once no new calls come: what ended before that means nothing.
   */
  finished(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#onIdle = resolve;
    });
  }
}

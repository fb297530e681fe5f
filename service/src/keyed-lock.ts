/**
 * Runs tasks of one key one after the other, in the order of their calls, and those of different keys side by side. It
 * holds within this process alone: what must hold across processes is up to the store that they write to.
 */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>();

  /** Whether a task of the key runs or waits. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  /** Runs the task once every earlier one of its key has ended; its result, or its error, is the caller's. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, promise);
    try {
      await before;
      return await task();
    } finally {
      resolve();
      if (this.#last.get(key) === promise) this.#last.delete(key);
    }
  }
}

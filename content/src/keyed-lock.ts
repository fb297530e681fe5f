/** Runs tasks of one key one after the other, and those of different keys side by side. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>();

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

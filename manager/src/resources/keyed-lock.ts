/**
 * Runs tasks of one key one after another. It only spares this process rounds of compare-and-swap and closes the gap
 * between a check over several objects and the write: what must hold, holds by the store's own rules.
 */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const mine = Promise.withResolvers<undefined>();
    const tail = mine.promise;
    this.#tails.set(key, tail);
    await before;
    try {
      return await task();
    } finally {
      mine.resolve(undefined);
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}

/** Who is notified of something. The error of one listener is reported, and keeps the news from no other. */
export class Listeners<A extends readonly unknown[]> {
  readonly #all = new Set<{ listener: (...news: A) => void }>();
  readonly #onError: (error: unknown, news: A) => void;

  constructor(onError: (error: unknown, news: A) => void) {
    this.#onError = onError;
  }

  /** A listener that is added twice is notified twice. @returns how to stop. */
  add(listener: (...news: A) => void): () => void {
    const added = { listener };
    this.#all.add(added);
    return () => void this.#all.delete(added);
  }

  notify(...news: A): void {
    for (const { listener } of this.#all) {
      try {
        listener(...news);
      } catch (error) {
        this.#onError(error, news);
      }
    }
  }
}

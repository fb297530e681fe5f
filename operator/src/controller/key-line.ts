/**
 * A FIFO queue of distinct keys. It stays cheap with a hundred thousand of them, unlike a Set that is emptied from its
 * front.
 */
export class KeyLine {
  readonly #members = new Set<string>();
  #line: string[] = [];
  #head = 0;

  get size(): number {
    return this.#members.size;
  }

  push(key: string): void {
    if (this.#members.has(key)) return;
    this.#members.add(key);
    this.#line.push(key);
  }

  shift(): string | undefined {
    const key = this.#line[this.#head];
    if (key === undefined) return undefined;
    this.#members.delete(key);
    this.#head += 1;
    if (this.#head === this.#line.length || this.#head > 10_000) {
      this.#line = this.#line.slice(this.#head);
      this.#head = 0;
    }
    return key;
  }

  clear(): void {
    this.#members.clear();
    this.#line = [];
    this.#head = 0;
  }
}

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { putFile, type Stored } from './put-file.ts';

/** A file that is written piece by piece, and kept or dropped only at the end. */
export class PendingFile {
  readonly #bytes = new PassThrough();
  readonly #stored: Promise<Stored>;
  #refusal: Error | undefined;

  constructor(content: ContentStore, limit: number) {
    this.#stored = putFile(content, this.#bytes, limit);
    // The store has ended early: later writes are ignored, and `keep` says why.
    this.#stored.catch(() => this.#bytes.destroy());
    this.#bytes.on('error', () => undefined);
  }

  /** Resolves once there is space for more. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#bytes.destroyed || this.#bytes.write(bytes)) return;
    const waiting = new AbortController();
    const options = { signal: waiting.signal };
    await Promise.race([once(this.#bytes, 'drain', options), once(this.#bytes, 'close', options)]);
    waiting.abort();
  }

  /** Rejects the content: nothing of it is kept, and `keep` throws this error. */
  refuse(error: Error): void {
    this.#refusal ??= error;
    this.#bytes.destroy(new Error('the file is refused'));
  }

  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** @throws DomainError what it was refused for; `too_large`; `unavailable`. */
  async keep(): Promise<Stored> {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#bytes.end();
    return this.#stored;
  }

  /** Resolves once a file that was not kept is removed completely. */
  async drop(): Promise<void> {
    this.#bytes.destroy(new Error('the file is not kept'));
    await this.#stored.catch(() => undefined);
  }
}

import { DomainError, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';

/** Blobs in memory. */
export class FakeContentStore implements ContentStore {
  readonly #blobs = new Map<Digest, { bytes: Buffer; putAt: number }>();
  readonly #clock: Clock;
  #failure: Error | undefined;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** Makes every put fail with this error, until it is called with undefined. */
  failPuts(error: Error | undefined): void {
    this.#failure = error;
  }

  /** Changes a stored blob behind the store's back, as a bad disk does. */
  corrupt(digest: Digest): void {
    this.#find(digest).bytes = Buffer.from('not what was put');
  }

  async put(
    content: AsyncIterable<Uint8Array> | Uint8Array,
    limit = Infinity,
  ): Promise<{ digest: Digest; size: number }> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of content instanceof Uint8Array ? [content] : content) {
      size += chunk.byteLength;
      if (size > limit) throw new DomainError('too_large', `The content is larger than ${limit} bytes.`);
      chunks.push(Buffer.from(chunk));
    }
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = Buffer.concat(chunks);
    const digest = sha256(bytes);
    this.#blobs.set(digest, { bytes, putAt: this.#clock.now() });
    return { digest, size };
  }

  async get(digest: Digest): Promise<Buffer> {
    const { bytes } = this.#find(digest);
    if (sha256(bytes) !== digest) throw new DomainError('internal_error', `Blob ${digest} is damaged.`);
    return Buffer.from(bytes);
  }

  async open(digest: Digest): Promise<AsyncIterable<Uint8Array>> {
    this.#find(digest);
    const get = (): Promise<Buffer> => this.get(digest);
    return (async function* () {
      yield await get();
    })();
  }

  async has(digest: Digest): Promise<boolean> {
    return this.#blobs.has(digest);
  }

  async collect(referenced: ReadonlySet<Digest>, graceMs: number): Promise<number> {
    const old = [...this.#blobs].filter(
      ([digest, { putAt }]) => !referenced.has(digest) && this.#clock.now() - putAt > graceMs,
    );
    for (const [digest] of old) this.#blobs.delete(digest);
    return old.length;
  }

  #find(digest: Digest): { bytes: Buffer; putAt: number } {
    const blob = this.#blobs.get(digest);
    if (blob === undefined) throw notFound(`There is no blob ${digest}.`);
    return blob;
  }
}

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { openCacheFolder, type CacheFolder, type PendingBlob } from './cache-folder.ts';

interface CachedContentStoreOptions {
  /** Whose blobs these are. */
  inner: ContentStore;
  /** Created if it is missing. It may be deleted while no process uses it, and processes may share it. */
  directory: string;
  /** Bytes on the disk; the least recently used blobs are removed first. */
  maxBytes: number;
  clock: Clock;
  logger: Logger;
}

/**
 * A ContentStore whose blobs stay readable while the inner one is away, as far as they were read or put before and
 * there was space for them. A cached blob is verified by its digest at each read; writes go through to the inner one,
 * so that an answered put is as safe as that makes it. The cache itself never fails a call.
 */
export async function createCachedContentStore(options: CachedContentStoreOptions): Promise<ContentStore> {
  return new CachedContentStore(options.inner, await openCacheFolder(options));
}

class CachedContentStore implements ContentStore {
  readonly #inner: ContentStore;
  readonly #folder: CacheFolder;
  /** Fetches in progress: many instances that start at once request the same artifact. */
  readonly #fetching = new Map<Digest, Promise<Buffer>>();

  constructor(inner: ContentStore, folder: CacheFolder) {
    this.#inner = inner;
    this.#folder = folder;
  }

  async put(
    content: AsyncIterable<Uint8Array> | Uint8Array,
    limit = Infinity,
  ): Promise<{ digest: Digest; size: number }> {
    if (content instanceof Uint8Array) {
      const stored = await this.#inner.put(content, limit);
      await this.#folder.keep(stored.digest, content);
      return stored;
    }
    const pending = await this.#folder.begin();
    try {
      const stored = await this.#inner.put(copied(content, pending), limit);
      await pending.keep(stored.digest);
      return stored;
    } finally {
      await pending.drop();
    }
  }

  async get(digest: Digest): Promise<Buffer> {
    const kept = await this.#folder.read(digest);
    if (kept !== undefined) return kept;
    const running = this.#fetching.get(digest);
    // Whoever gets a buffer may change it.
    if (running !== undefined) return Buffer.from(await running);
    const fetching = this.#fetch(digest).finally(() => this.#fetching.delete(digest));
    this.#fetching.set(digest, fetching);
    return Buffer.from(await fetching);
  }

  async open(digest: Digest): Promise<AsyncIterable<Uint8Array>> {
    const handle = await this.#folder.openWhole(digest);
    if (handle !== undefined) return fileOf(handle);
    const content = await this.#inner.open(digest);
    return kept(content, digest, this.#folder);
  }

  /**
   * Calls the inner store, which may have removed what is still cached; the cache is used only while the inner store is
   * not available.
   */
  async has(digest: Digest): Promise<boolean> {
    try {
      return await this.#inner.has(digest);
    } catch (error) {
      if (isDomainError(error, 'unavailable') && (await this.#folder.read(digest)) !== undefined) return true;
      throw error;
    }
  }

  collect(referenced: ReadonlySet<Digest>, graceMs: number): Promise<number> {
    return this.#inner.collect(referenced, graceMs);
  }

  async #fetch(digest: Digest): Promise<Buffer> {
    const bytes = await this.#inner.get(digest);
    if (sha256(bytes) === digest) await this.#folder.keep(digest, bytes);
    return bytes;
  }
}

async function* copied(content: AsyncIterable<Uint8Array>, pending: PendingBlob): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    await pending.write(chunk);
    yield chunk;
  }
}

/** The stream of the inner store, which is cached once it was read to its end and matches its digest. */
async function* kept(
  content: AsyncIterable<Uint8Array>,
  digest: Digest,
  folder: CacheFolder,
): AsyncGenerator<Uint8Array> {
  const pending = await folder.begin();
  const hash = createHash('sha256');
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      await pending.write(chunk);
      yield chunk;
    }
    if (hash.digest('hex') === digest) await pending.keep(digest);
  } finally {
    await pending.drop();
  }
}

async function* fileOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    yield* handle.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>;
  } finally {
    await handle.close();
  }
}

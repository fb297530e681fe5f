import { createHash, randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat, unlink, utimes, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { DomainError, isDomainError, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { openBlobFolder, SHARDS, syncFolder, type BlobFolder } from './blob-folder.ts';

interface FolderContentStoreOptions {
  /** Created if it is missing. Only one process at a time may use it. */
  directory: string;
  clock: Clock;
  logger: Logger;
}

/**
 * Opens a ContentStore in a folder: once a put has resolved, its blob is on the disk, even if the process is killed or
 * the machine loses power.
 */
export async function createFolderContentStore(options: FolderContentStoreOptions): Promise<ContentStore> {
  return new FolderContentStore(await openBlobFolder(options.directory), options);
}

const READ_BYTES = 64 * 1024;

class FolderContentStore implements ContentStore {
  readonly #folder: BlobFolder;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By digest. Held while a blob is renewed or replaced, and while `collect` looks once more and removes it. */
  readonly #lock = new KeyedLock();

  constructor(folder: BlobFolder, { clock, logger }: FolderContentStoreOptions) {
    this.#folder = folder;
    this.#clock = clock;
    this.#logger = logger;
  }

  async put(
    content: AsyncIterable<Uint8Array> | Uint8Array,
    limit = Infinity,
  ): Promise<{ digest: Digest; size: number }> {
    const temporary = path.join(this.#folder.temporary, randomUUID());
    try {
      if (!(content instanceof Uint8Array)) return await this.#write(temporary, content, limit);
      if (content.byteLength > limit) throw tooLarge(limit);
      const digest = sha256(content);
      if (await this.#renew(digest)) return { digest, size: content.byteLength };
      return await this.#write(temporary, [content], limit);
    } catch (error) {
      throw diskFullError(error) ?? error;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async get(digest: Digest): Promise<Buffer> {
    const bytes = await readFile(this.#path(digest)).catch((error: unknown) => {
      throw missingError(error, digest);
    });
    if (sha256(bytes) === digest) return bytes;
    this.#report(digest);
    throw damaged(digest);
  }

  async open(digest: Digest): Promise<AsyncIterable<Uint8Array>> {
    if (!(await this.has(digest))) throw missing(digest);
    return read(this.#path(digest), digest, () => this.#report(digest));
  }

  async has(digest: Digest): Promise<boolean> {
    const blob = this.#folder.blob(digest);
    return blob !== undefined && (await lastPut(blob)) !== undefined;
  }

  async collect(referenced: ReadonlySet<Digest>, graceMs: number): Promise<number> {
    let removed = 0;
    for (const shard of SHARDS) {
      for (const rest of await readdir(this.#folder.shard(shard))) {
        const digest = shard + rest;
        if (!referenced.has(digest) && (await this.#removeIfOld(digest, graceMs))) removed += 1;
      }
    }
    return removed;
  }

  /** Writes the content to a temporary file, and renames it once all of it is on the disk. */
  async #write(
    temporary: string,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    limit: number,
  ): Promise<{ digest: Digest; size: number }> {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      const { digest, size } = await writeAll(handle, content, limit);
      // A stream's digest is known only now; a blob that exists already need not be flushed a second time.
      if (await this.#renew(digest)) return { digest, size };
      const now = this.#clock.now() / 1000;
      await handle.utimes(now, now);
      await handle.datasync();
      const blob = this.#path(digest);
      await this.#lock.run(digest, () => rename(temporary, blob));
      await syncFolder(path.dirname(blob));
      return { digest, size };
    } finally {
      await handle.close();
    }
  }

  /**
   * Makes an existing blob as durable as one that was just put.
   * @returns whether it is there, and whole.
   */
  async #renew(digest: Digest): Promise<boolean> {
    const blob = this.#path(digest);
    const now = this.#clock.now() / 1000;
    const found = await this.#lock.run(digest, () => utimes(blob, now, now).then(() => true, ifMissing(false)));
    if (!found || !(await isWhole(blob, digest))) return false;
    // Whoever put it first may have been killed, or be running still, between the rename and the flush of the folder.
    await syncFolder(path.dirname(blob));
    return true;
  }

  async #removeIfOld(digest: Digest, graceMs: number): Promise<boolean> {
    const blob = this.#folder.blob(digest);
    if (blob === undefined) return false;
    const old = async (): Promise<boolean> => {
      const putAt = await lastPut(blob);
      return putAt !== undefined && this.#clock.now() - putAt > graceMs;
    };
    if (!(await old())) return false;
    return this.#lock.run(digest, async () => {
      // Once more, now that no put can renew it in between.
      if (!(await old())) return false;
      await unlink(blob);
      return true;
    });
  }

  #path(digest: Digest): string {
    const blob = this.#folder.blob(digest);
    if (blob === undefined) throw missing(digest);
    return blob;
  }

  #report(digest: Digest): void {
    this.#logger.error(
      { digest },
      'a stored blob no longer matches its digest: upload the same content again, or restore a backup',
    );
  }
}

/** Reads a blob; fails at its end, and calls `onDamage`, where it does not match the digest. */
async function* read(blob: string, digest: Digest, onDamage: () => void): AsyncGenerator<Uint8Array, void> {
  const handle = await open(blob, 'r').catch((error: unknown) => {
    throw missingError(error, digest);
  });
  try {
    const hash = createHash('sha256');
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      yield chunk;
    }
    if (hash.digest('hex') === digest) return;
    onDamage();
    throw damaged(digest);
  } finally {
    await handle.close();
  }
}

async function isWhole(blob: string, digest: Digest): Promise<boolean> {
  try {
    for await (const _chunk of read(blob, digest, () => undefined));
    return true;
  } catch (error) {
    if (isDomainError(error)) return false;
    throw error;
  }
}

async function writeAll(
  handle: FileHandle,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<{ digest: Digest; size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    hash.update(chunk);
    // Not write(), which may write less than it was given.
    await handle.writeFile(chunk);
  }
  return { digest: hash.digest('hex'), size };
}

/** When the blob was last put, in milliseconds since 1970 UTC. */
function lastPut(blob: string): Promise<number | undefined> {
  return stat(blob).then(({ mtimeMs }) => mtimeMs, ifMissing(undefined));
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

function ifMissing<T>(fallback: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === 'ENOENT') return fallback;
    throw error;
  };
}

function missing(digest: Digest): DomainError {
  return notFound(`There is no blob ${digest}.`);
}

function damaged(digest: Digest): DomainError {
  return new DomainError('internal_error', `Blob ${digest} is damaged.`);
}

function missingError(error: unknown, digest: Digest): unknown {
  return codeOf(error) === 'ENOENT' ? missing(digest) : error;
}

function tooLarge(limit: number): DomainError {
  return new DomainError('too_large', `The content is larger than ${limit} bytes.`);
}

function diskFullError(error: unknown): DomainError | undefined {
  if (codeOf(error) !== 'ENOSPC' && codeOf(error) !== 'EDQUOT') return undefined;
  return new DomainError('unavailable', 'The disk has no space left for the content: free some space, then try again.');
}

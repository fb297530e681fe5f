import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';

/** A blob that is being written. */
export interface PendingBlob {
  write(chunk: Uint8Array): Promise<void>;
  /** Gives it its name. The caller says what it is. */
  keep(digest: Digest): Promise<void>;
  /** Removes what is left of it; nothing after `keep`. */
  drop(): Promise<void>;
}

/**
 * Copies of blobs that are also stored elsewhere. No method rejects: what cannot be written is not cached, and what
 * cannot be read is treated as missing.
 */
export interface CacheFolder {
  /** The bytes, if they are cached and intact; a damaged blob is removed. */
  read(digest: Digest): Promise<Buffer | undefined>;
  /** The file, checked to be intact. The caller closes it. */
  openWhole(digest: Digest): Promise<FileHandle | undefined>;
  keep(digest: Digest, bytes: Uint8Array): Promise<void>;
  begin(): Promise<PendingBlob>;
}

interface CacheFolderOptions {
  directory: string;
  maxBytes: number;
  clock: Clock;
  logger: Logger;
}

const DIGEST = /^[0-9a-f]{64}$/;
const PRIVATE = 0o700;
/** A file that is still being written is not older than this; an older one was left behind by a killed process. */
const ABANDONED_MS = 3_600_000;
/** Times of use are written at most this often, since each costs a disk write. */
const TOUCH_MS = 60_000;
/** When full, the cache is trimmed to this fraction, so that not every new blob requires a scan of all of them. */
const LOW_WATER = 0.9;
/** One blob may not push out all others. */
const LARGEST_PART = 0.5;

/**
 * Opens the folder: `blobs/<digest>` and `tmp/`. Files appear whole by rename, and are only trusted after their digest
 * was checked, so that neither a crash nor a second process in the same folder can do harm.
 */
export async function openCacheFolder(options: CacheFolderOptions): Promise<CacheFolder> {
  const folder = new DiskCache(options);
  await folder.open();
  return folder;
}

interface Entry {
  file: string;
  size: number;
  usedAt: number;
}

class DiskCache implements CacheFolder {
  readonly #blobs: string;
  readonly #temporary: string;
  readonly #options: CacheFolderOptions;
  /** When each blob's time was last written. */
  readonly #touched = new Map<Digest, number>();
  /** Bytes on the disk when they were last counted, and what was written since. */
  #bytes = 0;
  #trimming: Promise<void> | undefined;

  constructor(options: CacheFolderOptions) {
    this.#options = options;
    this.#blobs = path.join(options.directory, 'blobs');
    this.#temporary = path.join(options.directory, 'tmp');
  }

  /** @throws when the folders cannot be made. */
  async open(): Promise<void> {
    for (const folder of [this.#blobs, this.#temporary]) await mkdir(folder, { recursive: true, mode: PRIVATE });
    const now = this.#options.clock.now();
    for (const { file, usedAt } of await entriesOf(this.#temporary))
      if (now - usedAt > ABANDONED_MS) await rm(file, { force: true });
    await this.#trim();
  }

  async read(digest: Digest): Promise<Buffer | undefined> {
    if (!DIGEST.test(digest)) return undefined;
    const file = path.join(this.#blobs, digest);
    const bytes = await readFile(file).catch(() => undefined);
    if (bytes === undefined) return undefined;
    if (sha256(bytes) !== digest) return this.#discard(digest);
    await this.#touch(digest);
    return bytes;
  }

  async openWhole(digest: Digest): Promise<FileHandle | undefined> {
    if (!DIGEST.test(digest)) return undefined;
    const handle = await open(path.join(this.#blobs, digest), 'r').catch(() => undefined);
    if (handle === undefined) return undefined;
    const found = await hashOf(handle).catch(() => undefined);
    if (found === digest) {
      await this.#touch(digest);
      return handle;
    }
    await handle.close();
    return this.#discard(digest);
  }

  async keep(digest: Digest, bytes: Uint8Array): Promise<void> {
    const found = await stat(path.join(this.#blobs, digest)).catch(() => undefined);
    if (found?.size === bytes.byteLength) return this.#touch(digest);
    const pending = await this.begin();
    try {
      await pending.write(bytes);
      await pending.keep(digest);
    } finally {
      await pending.drop();
    }
  }

  async begin(): Promise<PendingBlob> {
    const { maxBytes, clock, logger } = this.#options;
    const file = path.join(this.#temporary, randomUUID());
    let handle = await open(file, 'wx', 0o600).catch((error: unknown) => this.#complain(error));
    let size = 0;
    const drop = async (): Promise<void> => {
      const opened = handle;
      handle = undefined;
      if (opened === undefined) return;
      await opened.close().catch(() => undefined);
      await rm(file, { force: true }).catch(() => undefined);
    };
    return {
      write: async (chunk) => {
        size += chunk.byteLength;
        if (size > maxBytes * LARGEST_PART) await drop();
        // Not write(), which may write less than it was given.
        await handle?.writeFile(chunk).catch((error: unknown) => {
          this.#complain(error);
          return drop();
        });
      },
      keep: async (digest) => {
        const opened = handle;
        if (opened === undefined || !DIGEST.test(digest)) return;
        try {
          const now = clock.now() / 1000;
          await opened.utimes(now, now);
          await rename(file, path.join(this.#blobs, digest));
          this.#bytes += size;
          handle = undefined;
          await opened.close();
          if (this.#bytes > maxBytes) await this.#trim();
        } catch (err) {
          logger.warn({ err, digest }, 'a blob could not be added to the cache');
        }
      },
      drop,
    };
  }

  #complain(err: unknown): undefined {
    this.#options.logger.warn(
      { err },
      'a blob could not be written to the cache: it is read from the manager each time',
    );
    return undefined;
  }

  async #discard(digest: Digest): Promise<undefined> {
    this.#options.logger.warn({ digest }, 'a cached blob was damaged; fetching it again');
    await rm(path.join(this.#blobs, digest), { force: true }).catch(() => undefined);
    return undefined;
  }

  async #touch(digest: Digest): Promise<void> {
    const now = this.#options.clock.now();
    if (now - (this.#touched.get(digest) ?? 0) < TOUCH_MS) return;
    this.#touched.set(digest, now);
    await utimes(path.join(this.#blobs, digest), now / 1000, now / 1000).catch(() => undefined);
  }

  /** Removes the least recently used blobs until there is room again; one run at a time. */
  async #trim(): Promise<void> {
    this.#trimming ??= this.#trimOnce().finally(() => {
      this.#trimming = undefined;
    });
    await this.#trimming;
  }

  async #trimOnce(): Promise<void> {
    const { maxBytes } = this.#options;
    // Counted again: another process may have written too.
    const entries = (await entriesOf(this.#blobs)).sort((a, b) => a.usedAt - b.usedAt);
    this.#bytes = entries.reduce((sum, { size }) => sum + size, 0);
    if (this.#bytes <= maxBytes) return;
    for (const { file, size } of entries) {
      if (this.#bytes <= maxBytes * LOW_WATER) return;
      await rm(file, { force: true }).catch(() => undefined);
      this.#touched.delete(path.basename(file));
      this.#bytes -= size;
    }
  }
}

async function entriesOf(folder: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    // Another process may have removed it.
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() === true) entries.push({ file, size: found.size, usedAt: found.mtimeMs });
  }
  return entries;
}

async function hashOf(handle: FileHandle): Promise<Digest> {
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

import { chmod, mkdir, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '@wherry/core/resources/meta.ts';

const DIGEST = /^[0-9a-f]{64}$/;
const PRIVATE = 0o700;

/** The two hexadecimal digits that a digest can begin with: one folder each, so that no folder grows large. */
export const SHARDS: readonly string[] = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));

/** The layout: `blobs/ab/cdef…` for the blob abcdef…, and `tmp/` for what is still being written. */
export interface BlobFolder {
  temporary: string;
  /**
   * Undefined for what is not a digest and so cannot be stored: nothing that a caller sends becomes a path unchecked.
   */
  blob(digest: Digest): string | undefined;
  shard(shard: string): string;
}

/**
 * Makes the folders, all of them at once: then a put has no folder to make, and one less to flush.
 * What an earlier process left half-written is removed.
 */
export async function openBlobFolder(directory: string): Promise<BlobFolder> {
  const blobs = path.join(directory, 'blobs');
  const temporary = path.join(directory, 'tmp');
  await mkdir(directory, { recursive: true, mode: PRIVATE });
  await rm(temporary, { recursive: true, force: true });
  for (const folder of [blobs, temporary]) {
    await mkdir(folder, { recursive: true, mode: PRIVATE });
    await chmod(folder, PRIVATE);
  }
  const present = new Set(await readdir(blobs));
  const missing = SHARDS.filter((shard) => !present.has(shard));
  for (const shard of missing) await mkdir(path.join(blobs, shard), { mode: PRIVATE });
  for (const folder of [blobs, directory, path.dirname(path.resolve(directory))]) await syncFolder(folder);
  return {
    temporary,
    blob: (digest) => (DIGEST.test(digest) ? path.join(blobs, digest.slice(0, 2), digest.slice(2)) : undefined),
    shard: (shard) => path.join(blobs, shard),
  };
}

/** Returns once the names in a folder are on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

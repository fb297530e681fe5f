import { gunzipSync } from 'node:zlib';
import { extract, type Headers } from 'tar-stream';

export interface UnpackLimits {
  files: number;
  /** Of the whole tarball, unpacked. */
  bytes: number;
}

const MIB = 1024 * 1024;
const LIMITS: UnpackLimits = { files: 20_000, bytes: 256 * MIB };

/** What is wrong with a tarball, as the end of a sentence that begins with its package: `its tarball …`. */
export class TarballError extends Error {
  override readonly name = 'TarballError';
}

/**
 * The files of a package by their path in it, unpacked in memory. As npm does, it takes the first folder off each name,
 * whatever that is called, and leaves links and devices out; of entries of one name, the last holds.
 * @throws TarballError when an entry would leave the package, when a limit is passed, or when the bytes are no tarball.
 */
export async function unpackTarball(bytes: Uint8Array, limits: UnpackLimits = LIMITS): Promise<Map<string, Uint8Array>> {
  const tar = gunzip(bytes, limits.bytes);
  const files = new Map<string, Uint8Array>();
  const unpack = extract();
  unpack.end(tar);
  try {
    for await (const entry of unpack) {
      const path = pathOf(entry.header);
      if (path === undefined) entry.resume();
      else files.set(path, await contentOf(entry));
      if (files.size > limits.files) throw new TarballError(`its tarball has more than ${limits.files} files`);
    }
  } catch (error) {
    if (error instanceof TarballError) throw error;
    throw new TarballError(`its tarball is damaged (${(error as Error).message})`);
  }
  return files;
}

function gunzip(bytes: Uint8Array, limit: number): Uint8Array {
  const tooLarge = new TarballError(`its tarball unpacks to more than ${Math.round(limit / MIB)} MiB`);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip && bytes.length > limit) throw tooLarge;
  try {
    return isGzip ? gunzipSync(bytes, { maxOutputLength: limit }) : bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge;
    throw new TarballError(`its tarball is damaged (${(error as Error).message})`);
  }
}

/** Undefined for what a package does not get from a tarball. */
function pathOf({ name, type }: Headers): string | undefined {
  if (type !== 'file' && type !== 'contiguous-file' && type !== null && type !== undefined) return undefined;
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (name.startsWith('/') || segments.includes('..') || name.includes('\0')) throw new TarballError(`its tarball has an entry that leaves the package, ${JSON.stringify(name)}`);
  return segments.length < 2 ? undefined : segments.slice(1).join('/');
}

async function contentOf(entry: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  for await (const part of entry) parts.push(part);
  return Buffer.concat(parts);
}

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Header, type HeaderData } from 'tar/header';
import { Pax } from 'tar/pax';

interface UnpackLimits {
  files: number;
  /** Of the whole tarball, unpacked. */
  bytes: number;
}

const BLOCK = 512;
const EXTRA: ReadonlySet<string> = new Set([
  'ExtendedHeader',
  'OldExtendedHeader',
  'NextFileHasLongPath',
  'OldGnuLongPath',
  'NextFileHasLongLinkpath',
  'GlobalExtendedHeader',
]);
const FILES: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile']);

const MIB = 1024 * 1024;
export const UNPACK_LIMITS: UnpackLimits = { files: 20_000, bytes: 256 * MIB };

/** What is wrong with a tarball, as the end of a sentence that begins with its package: `its tarball …`. */
export class TarballError extends Error {
  override readonly name = 'TarballError';
  /** The tarball may be valid otherwise. */
  readonly isTooLarge: boolean;

  constructor(message: string, { isTooLarge = false } = {}) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/**
 * The files of a package by their path in it, unpacked in memory. As npm does, it takes the first folder off each name,
 * whatever that is called, and leaves links and devices out; of entries with one name, the last one counts. The files
 * are views of one buffer: a build reads few of them, and begins again each time. It is decompressed in another thread.
 * @throws TarballError when an entry would leave the package, when a limit is passed, or when the bytes are not a
 *   tarball.
 */
export async function unpackTarball(
  bytes: Uint8Array,
  limits: UnpackLimits = UNPACK_LIMITS,
): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const entry of entries(await decompressed(bytes, limits.bytes))) {
    const path = pathOf(entry);
    if (path === undefined) continue;
    files.set(path, entry.body);
    if (files.size > limits.files) throw new TarballError(`its tarball has more than ${limits.files} files`);
  }
  if (files.size === 0) throw new TarballError('its tarball is damaged: it contains no files');
  return files;
}

interface Entry {
  type: string;
  path: string;
  body: Buffer;
}

function* entries(tar: Buffer): Generator<Entry> {
  /** What extra entries say about the one that follows them. */
  let next: HeaderData = {};
  for (let offset = 0; offset + BLOCK <= tar.length;) {
    const entry = entryAt(tar, offset, next);
    offset += BLOCK + Math.ceil((entry?.body.length ?? 0) / BLOCK) * BLOCK;
    // Two empty blocks end an archive; what follows them is ignored, as in npm.
    if (entry === undefined) continue;
    if (EXTRA.has(entry.type)) {
      next = extra(entry, next);
    } else {
      next = {};
      yield entry;
    }
  }
}

function entryAt(tar: Buffer, offset: number, next: HeaderData): Entry | undefined {
  const header = new Header(tar, offset);
  if (header.nullBlock) return undefined;
  const { path = '', size = 0 } = EXTRA.has(header.type)
    ? header
    : { path: next.path ?? header.path, size: next.size ?? header.size };
  const start = offset + BLOCK;
  if (!header.cksumValid || start + size > tar.length) throw new TarballError('its tarball is damaged');
  return { type: header.type, path, body: tar.subarray(start, start + size) };
}

/** Of extra entries that are about all that follow, nothing concerns names or sizes. */
function extra({ type, body }: Entry, before: HeaderData): HeaderData {
  const text = body.toString('utf8');
  if (type.endsWith('LongPath')) return { ...before, path: text.replace(/\0.*$/s, '') };
  return type === 'ExtendedHeader' || type === 'OldExtendedHeader' ? Pax.parse(text, before) : before;
}

async function decompressed(bytes: Uint8Array, limit: number): Promise<Buffer> {
  const tooLarge = new TarballError(`its tarball unpacks to more than ${Math.round(limit / MIB)} MiB`, {
    isTooLarge: true,
  });
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip && bytes.length > limit) throw tooLarge;
  try {
    return isGzip
      ? await promisify(gunzip)(bytes, { maxOutputLength: limit, chunkSize: MIB })
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge;
    throw new TarballError(`its tarball is damaged (${(error as Error).message})`);
  }
}

/** Undefined for entries that are not extracted from a tarball. */
function pathOf({ type, path }: Entry): string | undefined {
  if (!FILES.has(type)) return undefined;
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (path.startsWith('/') || segments.includes('..') || path.includes('\0'))
    throw new TarballError(`its tarball has an entry outside the package: ${JSON.stringify(path)}`);
  return segments.length < 2 || path.endsWith('/') ? undefined : segments.slice(1).join('/');
}

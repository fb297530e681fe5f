import { gunzipSync } from 'node:zlib';
import { Header, type HeaderData } from 'tar/header';
import { Pax } from 'tar/pax';

export interface UnpackLimits {
  files: number;
  /** Of the whole tarball, unpacked. */
  bytes: number;
}

const BLOCK = 512;
const EXTRA: ReadonlySet<string> = new Set(['ExtendedHeader', 'OldExtendedHeader', 'NextFileHasLongPath', 'OldGnuLongPath', 'NextFileHasLongLinkpath']);
const FILES: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile']);

const MIB = 1024 * 1024;
const LIMITS: UnpackLimits = { files: 20_000, bytes: 256 * MIB };

/** What is wrong with a tarball, as the end of a sentence that begins with its package: `its tarball …`. */
export class TarballError extends Error {
  override readonly name = 'TarballError';
}

/**
 * The files of a package by their path in it, unpacked in memory. As npm does, it takes the first folder off each name,
 * whatever that is called, and leaves links and devices out; of entries of one name, the last holds.
 * The files are views of one buffer: a build reads few of them, and begins anew each time.
 * @throws TarballError when an entry would leave the package, when a limit is passed, or when the bytes are no tarball.
 */
export function unpackTarball(bytes: Uint8Array, limits: UnpackLimits = LIMITS): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const { header, body } of entries(gunzip(bytes, limits.bytes))) {
    const path = pathOf(header);
    if (path === undefined) continue;
    files.set(path, body);
    if (files.size > limits.files) throw new TarballError(`its tarball has more than ${limits.files} files`);
  }
  return files;
}

interface Entry {
  header: Header;
  body: Buffer;
}

function* entries(tar: Buffer): Generator<Entry> {
  /** What an extra entry says about the one that follows it, and about all that follow. */
  let next: HeaderData | undefined;
  let all: HeaderData | undefined;
  for (let offset = 0; offset + BLOCK <= tar.length; ) {
    const entry = entryAt(tar, offset, next, all);
    offset += BLOCK + Math.ceil((entry?.body.length ?? 0) / BLOCK) * BLOCK;
    // Two empty blocks end an archive; what comes after them is passed over, as by npm.
    if (entry === undefined) continue;
    const { type } = entry.header;
    if (type === 'GlobalExtendedHeader') all = Pax.parse(entry.body.toString('utf8'), all, true);
    else if (EXTRA.has(type)) next = { ...next, ...extra(type, entry.body.toString('utf8')) };
    else {
      next = undefined;
      yield entry;
    }
  }
}

function extra(type: string, text: string): HeaderData {
  if (type === 'NextFileHasLongLinkpath') return {};
  return type.endsWith('ExtendedHeader') ? Pax.parse(text) : { path: text.replace(/\0.*$/s, '') };
}

function entryAt(tar: Buffer, offset: number, next: HeaderData | undefined, all: HeaderData | undefined): Entry | undefined {
  const header = new Header(tar, offset, next, all);
  if (header.nullBlock) return undefined;
  // The extra entries may hold anything, in place of a number too.
  const { size = 0 } = header;
  if (!header.cksumValid || !Number.isSafeInteger(size) || size < 0 || offset + BLOCK + size > tar.length) throw new TarballError('its tarball is damaged');
  return { header, body: tar.subarray(offset + BLOCK, offset + BLOCK + size) };
}

function gunzip(bytes: Uint8Array, limit: number): Buffer {
  const tooLarge = new TarballError(`its tarball unpacks to more than ${Math.round(limit / MIB)} MiB`);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip && bytes.length > limit) throw tooLarge;
  try {
    return isGzip ? gunzipSync(bytes, { maxOutputLength: limit }) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge;
    throw new TarballError(`its tarball is damaged (${(error as Error).message})`);
  }
}

/** Undefined for what a package does not get from a tarball. */
function pathOf(header: Header): string | undefined {
  if (!FILES.has(header.type)) return undefined;
  const path = String(header.path ?? '');
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (path.startsWith('/') || segments.includes('..') || path.includes('\0')) throw new TarballError(`its tarball has an entry that leaves the package, ${JSON.stringify(path)}`);
  return segments.length < 2 || path.endsWith('/') ? undefined : segments.slice(1).join('/');
}

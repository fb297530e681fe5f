import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Extract, type Header } from 'tar-stream';
import { filePathProblem } from '@wherry/core/trees/file-path.ts';
import { DomainError, invalid, isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { mediaType } from '../http/json-body.ts';
import { putFile } from './put-file.ts';
import type { StoredFile } from './source-trees.ts';
import { readForm, tooLarge } from './upload-part.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** Between the content of one file and the next: names, attributes, padding. tar-stream holds them in memory. */
const HEADER_BYTES = 2 * 1024 * 1024;
const TAR_TYPES = new Set(['application/x-tar', 'application/tar']);
const GZIP_TYPES = new Set(['application/gzip', 'application/x-gzip', 'application/x-gtar', 'application/x-tgz']);

/**
 * Stores the files of a whole folder as blobs: of a tar, a compressed tar or a multipart form.
 * @param limit bytes of each file; `limits` are those of the whole.
 * @returns by path; of two with the same path the later one counts, as in tar.
 * @throws DomainError `validation_failed` naming the entry, `too_large`, `unsupported_media_type`.
 */
export async function readTreeUpload(
  request: IncomingMessage,
  content: ContentStore,
  { limit, limits = MANAGER_LIMITS.tree }: { limit: number; limits?: typeof MANAGER_LIMITS.tree },
): Promise<Map<string, StoredFile>> {
  const type = mediaType(request);
  if (Number(request.headers['content-length'] ?? 0) > limits.bytes) throw treeTooLarge(limits);
  if (type === 'multipart/form-data') return readFormTree(request, content, { limit, limits });
  if (TAR_TYPES.has(type) || GZIP_TYPES.has(type))
    return readTar(request, { content, limit, limits, gzip: GZIP_TYPES.has(type) });
  throw new DomainError(
    'unsupported_media_type',
    'A tree must be sent as application/x-tar, application/gzip or multipart/form-data.',
  );
}

async function readFormTree(
  request: IncomingMessage,
  content: ContentStore,
  { limit, limits }: Pick<TarOptions, 'limit' | 'limits'>,
): Promise<Map<string, StoredFile>> {
  const files = new Map<string, StoredFile>();
  await readForm(request, { maxParts: limits.entries, maxBytes: limits.bytes }, async (part) => {
    if (part.filename === '')
      throw invalid(`The part ${part.name} has no filename: send the file's path as its filename.`);
    const path = checkPath(part.filename);
    files.set(path, { path, ...(await putFile(content, part.content, limit)) });
  });
  if (files.size === 0) throw invalid('The form has no parts.');
  return files;
}

interface TarOptions {
  content: ContentStore;
  limit: number;
  limits: typeof MANAGER_LIMITS.tree;
  gzip: boolean;
}

async function readTar(request: IncomingMessage, options: TarOptions): Promise<Map<string, StoredFile>> {
  const tar = extract();
  const files = new Map<string, StoredFile>();
  let received = 0;
  // The reading ends by itself when the writing fails: the pipeline destroys the tar.
  const counts = new TarCounts(options.limits);
  const reading = readEntries(tar, files, { ...options, counts });
  const source = (async function* () {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received += chunk.length;
      yield chunk;
    }
  })();
  const count = (chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> => counts.pass(chunks);
  const writing = options.gzip ? pipeline(source, createGunzip(), count, tar) : pipeline(source, count, tar);
  // The writing side knows that the upload is too large; the reading side only sees one of its files break off.
  const results = await Promise.allSettled([writing, reading]);
  if (received === 0) throw invalid('The body is empty: send a tar.');
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  // What an entry was refused for says more than the stream that broke off because of it.
  const refusal = errors.find((error) => isDomainError(error));
  if (refusal !== undefined) throw refusal;
  if (errors.length > 0) throw invalid(`The body is not a complete ${options.gzip ? 'gzip-compressed ' : ''}tar.`);
  return files;
}

/** How much of a tar has arrived, unpacked: it is refused as soon as it is too much. */
class TarCounts {
  readonly #limits: typeof MANAGER_LIMITS.tree;
  #bytes = 0;
  #entries = 0;
  /** Where the next entry must have begun. */
  #entryBy = HEADER_BYTES;

  constructor(limits: typeof MANAGER_LIMITS.tree) {
    this.#limits = limits;
  }

  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#limits.bytes) throw treeTooLarge(this.#limits);
      if (this.#bytes > this.#entryBy)
        throw new DomainError('too_large', `The tar has more than ${HEADER_BYTES} bytes between two entries.`);
      yield chunk;
    }
  }

  /** @param size bytes of the entry's content. */
  entry(size: number): void {
    this.#entries += 1;
    if (this.#entries > this.#limits.entries) throw treeTooLarge(this.#limits);
    this.#entryBy = this.#bytes + size + HEADER_BYTES;
  }
}

function treeTooLarge({ entries, bytes }: typeof MANAGER_LIMITS.tree): DomainError {
  return new DomainError(
    'too_large',
    `The upload exceeds the limits of ${entries} entries and ${bytes} bytes, packed or unpacked.`,
  );
}

async function readEntries(
  tar: Extract,
  files: Map<string, StoredFile>,
  { content, limit, counts }: TarOptions & { counts: TarCounts },
): Promise<void> {
  for await (const entry of tar) {
    const { header } = entry;
    counts.entry(typeof header.size === 'number' && header.type !== 'directory' ? header.size : 0);
    const path = entryPath(header);
    // A folder has no content, whatever its size says: the stream of one with a size never ends.
    if (path === undefined) continue;
    // Nor does that of a file whose size cannot be read.
    const size: unknown = header.size;
    if (typeof size !== 'number') throw invalid(`The size of ${path} in the tar cannot be read.`);
    if (size > limit) throw tooLarge(limit);
    const stored = await putFile(content, entry as AsyncIterable<Uint8Array>, limit);
    files.set(path, { path, ...stored, executable: ((header.mode ?? 0) & 0o100) !== 0 });
  }
}

/** The path of a tar's file; undefined for its folders, which trees do not have. */
function entryPath(header: Header): string | undefined {
  if (header.type === 'directory') return undefined;
  if (header.type !== 'file' && header.type !== 'contiguous-file') {
    throw invalid(
      `${header.name} is a ${header.type ?? 'special file'}: a tree may contain only plain files, no links or special files.`,
    );
  }
  return checkPath(header.name.replace(/^(?:\.\/)+/, ''));
}

function checkPath(path: string): string {
  const problem = filePathProblem(path);
  if (problem !== undefined) throw invalid(`The path ${JSON.stringify(path.slice(0, 200))} ${problem}.`);
  return path;
}

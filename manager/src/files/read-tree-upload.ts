import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Extract, type Header } from 'tar-stream';
import { filePathProblem } from '@wherry/core/checks/file-path.ts';
import { DomainError, invalid, isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { mediaType } from '../http/json-body.ts';
import { putFile } from './read-upload.ts';
import type { StoredFile } from './source-trees.ts';
import { readForm, tooLarge } from './upload-part.ts';

const MAX_FILES = 20_000;
const TAR_TYPES = new Set(['application/x-tar', 'application/tar']);
const GZIP_TYPES = new Set(['application/gzip', 'application/x-gzip', 'application/x-gtar', 'application/x-tgz']);

/**
 * Stores the files of a whole folder as blobs: of a tar, a compressed tar or a multipart form.
 * @param limit bytes of each file.
 * @returns by path; where one comes twice, the later counts, as in tar.
 * @throws DomainError `validation_failed` naming the entry, `too_large`, `unsupported_media_type`.
 */
export async function readTreeUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Map<string, StoredFile>> {
  const type = mediaType(request);
  if (type === 'multipart/form-data') return readFormTree(request, content, limit);
  if (TAR_TYPES.has(type) || GZIP_TYPES.has(type)) return readTar(request, { content, limit, gzip: GZIP_TYPES.has(type) });
  throw new DomainError('unsupported_media_type', 'A tree comes as application/x-tar, application/gzip or multipart/form-data.');
}

async function readFormTree(request: IncomingMessage, content: ContentStore, limit: number): Promise<Map<string, StoredFile>> {
  const files = new Map<string, StoredFile>();
  await readForm(request, { limit, maxParts: MAX_FILES }, async (part) => {
    if (part.filename === '') throw invalid(`The part ${part.name} has no filename: it is the file's path.`);
    const path = checkPath(part.filename);
    files.set(path, { path, ...(await putFile(content, part.content, limit)) });
  });
  if (files.size === 0) throw invalid('The form has no parts.');
  return files;
}

interface TarOptions {
  content: ContentStore;
  limit: number;
  gzip: boolean;
}

async function readTar(request: IncomingMessage, options: TarOptions): Promise<Map<string, StoredFile>> {
  const tar = extract();
  const files = new Map<string, StoredFile>();
  let received = 0;
  // The reading ends by itself when the writing fails: the pipeline destroys the tar.
  const reading = readEntries(tar, files, options);
  const source = (async function* () {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received += chunk.length;
      yield chunk;
    }
  })();
  const writing = options.gzip ? pipeline(source, createGunzip(), tar) : pipeline(source, tar);
  const results = await Promise.allSettled([reading, writing]);
  if (received === 0) throw invalid('The body is empty: send a tar.');
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  // What an entry was refused for says more than the stream that broke off because of it.
  const refusal = errors.find((error) => isDomainError(error));
  if (refusal !== undefined) throw refusal;
  if (errors.length > 0) throw invalid(`The body is not a whole ${options.gzip ? 'gzip-compressed ' : ''}tar.`);
  return files;
}

async function readEntries(tar: Extract, files: Map<string, StoredFile>, { content, limit }: TarOptions): Promise<void> {
  for await (const entry of tar) {
    const { header } = entry;
    const path = entryPath(header);
    // A folder has no content, whatever its size says: the stream of one with a size never ends.
    if (path === undefined) continue;
    // Nor does that of a file whose size cannot be read.
    const size: unknown = header.size;
    if (typeof size !== 'number') throw invalid(`${path}: its size cannot be read.`);
    if (size > limit) throw tooLarge(limit);
    const stored = await putFile(content, entry as AsyncIterable<Uint8Array>, limit);
    files.set(path, { path, ...stored, executable: ((header.mode ?? 0) & 0o100) !== 0 });
    if (files.size > MAX_FILES) throw new DomainError('too_large', `A source holds at most ${MAX_FILES} files.`);
  }
}

/** The path of a tar's file; undefined for its folders, which trees do not have. */
function entryPath(header: Header): string | undefined {
  if (header.type === 'directory') return undefined;
  if (header.type !== 'file' && header.type !== 'contiguous-file') {
    throw invalid(`${header.name}: is a ${header.type ?? 'special'}; a tree holds plain files only, no links or specials.`);
  }
  return checkPath(header.name.replace(/^(?:\.\/)+/, ''));
}

function checkPath(path: string): string {
  const problem = filePathProblem(path);
  if (problem !== undefined) throw invalid(`The path ${JSON.stringify(path.slice(0, 200))} ${problem}.`);
  return path;
}

import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { invalid, isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { mediaType, readJson } from '../http/json-body.ts';
import { validate } from '../http/validate.ts';
import { readForm, tooLarge } from './upload-part.ts';

/** What a JSON upload may have beyond twice the file's own limit: escapes and base64 make it longer (M8). */
const JSON_OVERHEAD = 65_536;
/** A string of Node's is no longer than this; larger files come as raw bytes. */
const JSON_MOST = 400 * 1024 * 1024;

const uploadSchema = z.strictObject({ content: z.string(), encoding: z.enum(['utf-8', 'utf8', 'base64']).nullish() });
const PART_NAMES = new Set(['file', 'content']);

export interface Stored {
  digest: Digest;
  size: number;
}

/**
 * Stores the content of an upload as a blob, in any of its three forms, told apart by the content type.
 * @param limit bytes of a file; nothing beyond is held in memory or kept on disk.
 * @throws DomainError `too_large`, or `validation_failed` for a malformed body.
 */
export function readUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  const type = mediaType(request);
  if (type === 'application/json') return readJsonUpload(request, content, limit);
  if (type === 'multipart/form-data') return readFormUpload(request, content, limit);
  return readRaw(request, content, limit);
}

async function readRaw(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return putFile(content, request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>, limit);
}

async function readJsonUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  const body = await readJson(request, Math.min(2 * limit + JSON_OVERHEAD, JSON_MOST));
  const upload = validate(uploadSchema, body, 'body (to store a JSON file as it is, send application/octet-stream)');
  return putFile(content, upload.encoding === 'base64' ? decodeBase64(upload.content) : encodeText(upload.content), limit);
}

function encodeText(text: string): Buffer {
  if (!text.isWellFormed()) throw invalid('content: must be well-formed Unicode.', [{ path: 'content', message: 'must be well-formed Unicode' }]);
  return Buffer.from(text);
}

/** Node's decoder skips what is not base64; a cut or mistyped upload must not be stored as something else. */
function decodeBase64(text: string): Buffer {
  const bare = text.replace(/[\r\n]/g, '');
  const good = /^[A-Za-z0-9+/]*={0,2}$/.test(bare) && bare.length % 4 === 0;
  if (!good) throw invalid('content: is not base64.', [{ path: 'content', message: 'is not base64' }]);
  return Buffer.from(bare, 'base64');
}

async function readFormUpload(request: IncomingMessage, content: ContentStore, limit: number): Promise<Stored> {
  let stored: Stored | undefined;
  let parts = 0;
  await readForm(request, { limit, maxParts: 100 }, async (part) => {
    if (!PART_NAMES.has(part.name)) return drain(part.content);
    parts += 1;
    if (parts > 1) throw invalid('The form must have one part named file (or content), not several.');
    stored = await putFile(content, part.content, limit);
  });
  if (stored === undefined) throw invalid('The form must have a part named file (or content).');
  return stored;
}

/** A form goes on only when each of its parts is read. */
export async function drain(content: AsyncIterable<Uint8Array> | Uint8Array): Promise<void> {
  if (content instanceof Uint8Array) return;
  for await (const chunk of content) void chunk;
}

/** Stores a file, and says in the setting's words when it is too large. */
export async function putFile(content: ContentStore, bytes: AsyncIterable<Uint8Array> | Uint8Array, limit: number): Promise<Stored> {
  try {
    return await content.put(bytes, limit);
  } catch (error) {
    if (isDomainError(error, 'too_large')) throw tooLarge(limit);
    throw error;
  }
}

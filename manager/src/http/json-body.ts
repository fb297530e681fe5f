import type { IncomingMessage } from 'node:http';
import { DomainError, invalid } from '@wherry/core/errors.ts';
import { ByteQueue } from '@wherry/service/byte-queue.ts';
import { refused } from './validate.ts';
import { MANAGER_LIMITS } from '../limits.ts';

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\[]{}');

/** The media type of a Content-Type header, without parameters; empty when there is none. */
export function mediaType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Whether the request announces a body. */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Refuses bodies that are not JSON by their header, before any of them is read.
 * @throws DomainError `unsupported_media_type`.
 */
export function requireJsonType(request: IncomingMessage): void {
  refuseEncoding(request);
  if (!hasBody(request) || mediaType(request) === 'application/json') return;
  throw new DomainError('unsupported_media_type', 'The body must be JSON: send Content-Type: application/json.');
}

/** A compressed body would pass every limit before it is unpacked. */
export function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return;
  throw new DomainError('unsupported_media_type', 'The body must not be compressed: send no Content-Encoding.');
}

/**
 * Reads and parses a JSON body.
 * @param limit bytes.
 * @param isOptional an empty body is read as `{}`.
 * @throws DomainError `too_large`; `validation_failed` for malformed, too deep or poisonous JSON.
 */
export async function readJson(
  request: IncomingMessage,
  { limit = MANAGER_LIMITS.jsonBytes, isOptional = false }: { limit?: number; isOptional?: boolean | undefined } = {},
): Promise<unknown> {
  requireJsonType(request);
  const bytes = await readBytes(request, limit);
  if (bytes.length === 0 && isOptional) return {};
  if (bytes.length === 0) throw invalid('A JSON body is required.');
  return parseJson(bytes);
}

/** Parses bytes as JSON under the common rules of depth and keys. */
export function parseJson(bytes: Buffer): unknown {
  if (isTooDeep(bytes)) throw invalid(`The JSON body nests deeper than ${MANAGER_LIMITS.jsonDepth} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalid('The body is not well-formed JSON in UTF-8.');
  }
  refusePoison(value, '');
  return value;
}

/** Reads a whole body. @throws DomainError `too_large`. */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  // Its chunks may be of a byte each, which take hundreds of bytes by themselves (M10).
  const queue = new ByteQueue();
  for await (const chunk of bodyChunks(request, limit)) queue.add(chunk);
  return queue.takeAll();
}

/** The bytes of a JSON body as they come. @throws DomainError `too_large`. */
export async function* bodyChunks(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  const tooLarge = new DomainError('too_large', `The JSON body exceeds the limit of ${limit} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  let length = 0;
  // Destroying the request would take the answer's connection with it.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw tooLarge;
    yield chunk;
  }
}

/** Counted before parsing: code that walks the parsed value may then recurse. */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (inString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) inString = false;
      continue;
    }
    if (byte === QUOTE) inString = true;
    depth += step(byte);
    if (depth > MANAGER_LIMITS.jsonDepth) return true;
  }
  return false;
}

function step(byte: number | undefined): number {
  if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) return 1;
  return byte === CLOSE_ARRAY || byte === CLOSE_OBJECT ? -1 : 0;
}

/**
 * What no field may hold, whichever it is: a key such as `__proto__`, half a pair of surrogates, which no store can
 * preserve, or NUL, which ends a text for other programs.
 */
function refusePoison(value: unknown, path: string): void {
  if (typeof value === 'string' && !isText(value)) throw notText(path);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    // The name itself cannot be shown.
    if (!isText(key)) throw notText(path);
    const here = path === '' ? key : `${path}.${key}`;
    if (!Array.isArray(value) && FORBIDDEN_KEYS.has(key)) {
      throw refused([{ path: here, message: 'is not a known field' }]);
    }
    refusePoison(child, here);
  }
}

const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

function notText(path: string): DomainError {
  return refused([{ path, message: 'must be well-formed Unicode, without NUL' }]);
}

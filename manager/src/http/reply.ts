import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { DomainError } from '@wherry/core/errors.ts';
import { ERROR_ANSWERS, errorBody } from './error-mapper.ts';

/** On every answer of the API: it is data, never a page, and nobody's cache keeps it. */
const COMMON_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

export type Headers = Record<string, string>;

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: Headers = {}): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...COMMON_HEADERS,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(bytes.length),
    ...headers,
  });
  response.end(bytes);
}

export function sendEmpty(response: ServerResponse, status: number, headers: Headers = {}): void {
  response.writeHead(status, { ...COMMON_HEADERS, ...headers });
  response.end();
}

/** Streams bytes; a reader that goes away ends the source, a source that fails cuts the answer. */
export async function sendBytes(
  response: ServerResponse,
  status: number,
  bytes: Readable,
  headers: Headers,
): Promise<void> {
  response.writeHead(status, { ...COMMON_HEADERS, ...headers });
  if (response.req.method === 'HEAD') {
    bytes.destroy();
    response.end();
    return;
  }
  await pipeline(bytes, response);
}

/** Answers with the error's body. What is still coming of the request is thrown away, so that the answer arrives. */
export function sendError(
  response: ServerResponse,
  error: DomainError,
  requestId: string,
  headers: Headers = {},
): void {
  const { status, retryAfter } = ERROR_ANSWERS[error.code];
  response.req.resume();
  sendJson(response, status, errorBody(error, requestId), {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(status === 401 ? { 'WWW-Authenticate': 'ApiKey' } : {}),
    ...headers,
  });
}

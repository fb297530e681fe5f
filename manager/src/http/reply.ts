import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { DomainError } from '@wherry/core/errors.ts';
import { endAfterBody } from '@wherry/service/end-after-body.ts';
import { ERROR_ANSWERS, errorBody } from './error-mapper.ts';
import { ThrottledError } from './throttled-error.ts';

/** On every answer of the API: it is data, never a page, and must not be cached. */
export const COMMON_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** On every 401: which credentials to send. */
export const CHALLENGE = { 'WWW-Authenticate': 'ApiKey' };

/** A header that is repeated has several values. */
export type Headers = Record<string, string | readonly string[]>;

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: Headers = {}): void {
  response.end(writeJsonHead(response, status, body, headers));
}

/** @returns the body, which is still to be sent. */
function writeJsonHead(response: ServerResponse, status: number, body: unknown, headers: Headers): Buffer {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...COMMON_HEADERS,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(bytes.length),
    ...headers,
  } as OutgoingHttpHeaders);
  return bytes;
}

export function sendEmpty(response: ServerResponse, status: number, headers: Headers = {}): void {
  response.writeHead(status, { ...COMMON_HEADERS, ...headers } as OutgoingHttpHeaders);
  response.end();
}

/** Streams bytes; a reader that goes away ends the source, a source that fails cuts the answer. */
export async function sendBytes(
  response: ServerResponse,
  status: number,
  bytes: Readable,
  headers: Headers,
): Promise<void> {
  response.writeHead(status, { ...COMMON_HEADERS, ...headers } as OutgoingHttpHeaders);
  if (response.req.method === 'HEAD') {
    bytes.destroy();
    response.end();
    return;
  }
  await pipeline(bytes, response);
}

/** Answers with the error's body. The rest of the request is discarded, so that the answer arrives. */
export function sendError(
  response: ServerResponse,
  error: DomainError,
  requestId: string,
  headers: Headers = {},
): void {
  const { status, retryAfter: usual } = ERROR_ANSWERS[error.code];
  const retryAfter = error instanceof ThrottledError ? error.retryAfter : usual;
  response.req.resume();
  const bytes = writeJsonHead(response, status, errorBody(error, requestId), {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    // The caller may keep sending the rest; this does not wait for it.
    ...(status === 408 ? { Connection: 'close' } : {}),
    ...(status === 401 ? CHALLENGE : {}),
    ...headers,
  });
  if (status === 408) response.end(bytes);
  else endAfterBody(response.req, response, bytes);
}

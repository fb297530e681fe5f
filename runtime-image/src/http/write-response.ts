import type { ServerResponse } from 'node:http';
import { foreignParts } from './foreign-response.ts';
import { LightResponse, realParts, type ResponseParts } from './light-response.ts';
import { dropEncoding, isTaken } from './plain-parts.ts';
import { realResponse } from './real-globals.ts';
import { isWhole, responseHeaders } from './response-headers.ts';

/**
 * Sends a handler's answer.
 * @returns undefined when the whole answer has been handed to the socket, a promise where it streams: it rejects with
 *   the error that broke the stream, which is then cut.
 * @throws TypeError or RangeError when the value is not a Response, or has a status or a header that cannot be sent;
 *   then nothing was sent.
 */
export function writeResponse(outgoing: ServerResponse, value: unknown): Promise<void> | undefined {
  const parts = partsOf(value);
  const { status, statusText, body } = parts;
  // Node would send it as an interim answer, and the caller would wait for the final one.
  if (status < 200) throw new RangeError(`The status of the Response must be 200 or higher, but is ${status}.`);
  const flat = responseHeaders(parts);
  if (body === null || isWhole(body)) {
    writeHead(outgoing, status, statusText, flat);
    if (body === null) outgoing.end();
    else outgoing.end(body);
    return undefined;
  }
  if (outgoing.req.method === 'HEAD')
    return withoutBody(outgoing, body, () => writeHead(outgoing, status, statusText, flat));
  if (isTaken(body)) throw new TypeError('The body of the Response has already been read.');
  // A wrong length would shift the answers that follow on this connection.
  outgoing.strictContentLength = true;
  writeHead(outgoing, status, statusText, flat);
  outgoing.flushHeaders();
  return pump(body.getReader() as ReadableStreamDefaultReader<unknown>, outgoing);
}

/** HEAD: the stream is released unread, because it may have no end. */
function withoutBody(outgoing: ServerResponse, body: ReadableStream, head: () => void): undefined {
  head();
  outgoing.end();
  if (!body.locked) void body.cancel().catch(() => undefined);
}

function writeHead(outgoing: ServerResponse, status: number, statusText: string, headers: string[]): void {
  if (statusText === '') outgoing.writeHead(status, headers);
  else outgoing.writeHead(status, statusText, headers);
}

export function partsOf(value: unknown): ResponseParts {
  if (typeof value !== 'object' || value === null) throw notResponse(value);
  const parts = LightResponse.parts(value);
  if (parts !== undefined) return parts;
  if (!(value instanceof realResponse())) return foreignParts(value) ?? fail(notResponse(value));
  const real = realParts(value);
  if (value.url === '' || !value.headers.has('content-encoding')) return real;
  const headers = new Headers(value.headers);
  dropEncoding(headers);
  return { ...real, headers };
}

function fail(error: Error): never {
  throw error;
}

function notResponse(value: unknown): TypeError {
  const found = typeof value === 'object' && value !== null ? 'an object that is not a Response' : describe(value);
  return new TypeError(
    `The handler must return a Response (c.json(…), c.text(…), new Response(…)), but returned ${found}.`,
  );
}

const describe = (value: unknown): string =>
  value === undefined || value === null ? String(value) : `a ${typeof value}`;

/**
 * Writes as fast as the caller reads. When the caller disconnects, or the call is cut, the source is cancelled
 * (`cancel`).
 */
async function pump(reader: ReadableStreamDefaultReader<unknown>, outgoing: ServerResponse): Promise<void> {
  const cancel = (reason: unknown): void => void reader.cancel(reason).catch(() => undefined);
  const onClose = (): void => cancel(new Error('The caller no longer reads the response.'));
  outgoing.once('close', onClose);
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (outgoing.destroyed) return onClose();
      if (!(next.value instanceof Uint8Array))
        throw new TypeError("A Response's stream must consist of Uint8Array chunks.");
      if (next.value.byteLength > 0 && !outgoing.write(next.value)) await drained(outgoing);
    }
    outgoing.end();
  } catch (error) {
    cancel(error);
    outgoing.destroy();
    throw error;
  } finally {
    outgoing.off('close', onClose);
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.on('drain', done).on('close', done);
  });
}

import type { IncomingMessage } from 'node:http';
import { DomainError } from '@wherry/core/errors.ts';
import type { AnyEndpoint } from './endpoint.ts';
import { hasBody, JSON_LIMIT, mediaType } from './json-body.ts';

/** Of all bodies together that are being read. */
const TOTAL_BYTES = 128 * 1024 * 1024;
/** What a body takes that is stored while it comes. */
const STREAMED_BYTES = 1024 * 1024;

/** What all bodies that are being read may take of memory (M10). */
export class BodyBudget {
  #taken = 0;

  /**
   * Takes what a request's body may need. One that is larger than all of it is read alone.
   * @returns how to give it back; harmless a second time.
   * @throws DomainError `unavailable` while others have it.
   */
  take(endpoint: AnyEndpoint, request: IncomingMessage): () => void {
    const bytes = bytesOf(endpoint, request);
    if (bytes > 0 && this.#taken > 0 && this.#taken + bytes > TOTAL_BYTES) {
      throw new DomainError('unavailable', 'Other uploads are being read, which together with this one would take too much memory: try again in a moment, or send the file as raw bytes.');
    }
    this.#taken += bytes;
    let isBack = false;
    return () => {
      if (!isBack) this.#taken -= bytes;
      isBack = true;
    };
  }
}

function bytesOf({ body }: AnyEndpoint, request: IncomingMessage): number {
  if (body === undefined || !hasBody(request)) return 0;
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  if (body.kind === 'json') return Math.min(Number.isNaN(length) ? JSON_LIMIT : length, JSON_LIMIT);
  if (body.held?.includes(mediaType(request)) !== true) return STREAMED_BYTES;
  return Number.isNaN(length) ? TOTAL_BYTES : length;
}

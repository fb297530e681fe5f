import type { IncomingMessage } from 'node:http';
import { DomainError } from '@wherry/core/errors.ts';
import type { AnyEndpoint } from './endpoint.ts';
import { hasBody, JSON_LIMIT, mediaType } from './json-body.ts';

/** Of all uploads together that are being read. */
const TOTAL_BYTES = 128 * 1024 * 1024;
/** Of all other bodies: they are small, and a slow upload must not keep anybody from revoking a key. */
const SMALL_BYTES = 32 * 1024 * 1024;
/** What a body takes that is stored while it comes. */
const STREAMED_BYTES = 1024 * 1024;

/** What all bodies that are being read may take of memory (M10). */
export class BodyBudget {
  readonly #taken = { upload: 0, small: 0 };

  /**
   * Takes what a request's body may need. One that is larger than all of it is read alone.
   * @returns how to give it back; harmless a second time.
   * @throws DomainError `unavailable` while others have it.
   */
  take(endpoint: AnyEndpoint, request: IncomingMessage): () => void {
    const bytes = bytesOf(endpoint, request);
    const [pool, most] = endpoint.body?.kind === 'stream' ? (['upload', TOTAL_BYTES] as const) : (['small', SMALL_BYTES] as const);
    const taken = this.#taken[pool];
    if (bytes > 0 && taken > 0 && taken + bytes > most) {
      throw new DomainError('unavailable', 'Other uploads are being read, which together with this one would take too much memory: try again in a moment, or send the file as raw bytes.');
    }
    this.#taken[pool] += bytes;
    let isBack = false;
    return () => {
      if (!isBack) this.#taken[pool] -= bytes;
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

import type { IncomingMessage } from 'node:http';
import { BytePool } from './byte-pool.ts';
import type { AnyEndpoint } from './endpoint.ts';
import { hasBody, JSON_LIMIT } from './json-body.ts';

/** Of all uploads together that are being read. */
const TOTAL_BYTES = 128 * 1024 * 1024;
/** Of all other bodies: they are small, and a slow upload must not keep anybody from revoking a key. */
const SMALL_BYTES = 32 * 1024 * 1024;
/** The memory of a body that is stored as it arrives. */
const STREAMED_BYTES = 1024 * 1024;

const REFUSAL = 'Too many other requests with bodies are being read: try again in a moment.';

/** The memory for all bodies that are being read (M10). */
export class BodyBudget {
  readonly #uploads = new BytePool(TOTAL_BYTES, REFUSAL);
  readonly #small = new BytePool(SMALL_BYTES, REFUSAL);

  /**
   * Reserves what a request's body may need.
   * @returns a function that releases it, which may be called again.
   * @throws DomainError `unavailable` while it is in use by others.
   */
  take(endpoint: AnyEndpoint, request: IncomingMessage): () => void {
    return (endpoint.body?.kind === 'stream' ? this.#uploads : this.#small).take(bytesOf(endpoint, request));
  }
}

function bytesOf({ body }: AnyEndpoint, request: IncomingMessage): number {
  if (body === undefined || !hasBody(request)) return 0;
  if (body.kind === 'json') return Math.min(Number(request.headers['content-length'] ?? JSON_LIMIT), JSON_LIMIT);
  return STREAMED_BYTES;
}

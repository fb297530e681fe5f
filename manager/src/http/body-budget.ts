import type { IncomingMessage } from 'node:http';
import { BytePool } from './byte-pool.ts';
import type { AnyEndpoint } from './endpoint.ts';
import { hasBody } from './json-body.ts';
import { MANAGER_LIMITS } from '../limits.ts';

const REFUSAL = 'Too many other requests with bodies are being read: try again in a moment.';

/** The memory for all bodies that are being read (M10). */
export class BodyBudget {
  readonly #uploads = new BytePool(MANAGER_LIMITS.uploadMemoryBytes, REFUSAL);
  readonly #small = new BytePool(MANAGER_LIMITS.bodyMemoryBytes, REFUSAL);

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
  if (body.kind === 'json')
    return Math.min(Number(request.headers['content-length'] ?? MANAGER_LIMITS.jsonBytes), MANAGER_LIMITS.jsonBytes);
  return MANAGER_LIMITS.memoryOfUploadBytes;
}

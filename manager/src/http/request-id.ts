import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The id of a request: a trusted proxy's own where it is a UUID, else a new one. */
export function requestIdOf(request: IncomingMessage, isTrusted: boolean): string {
  const given = request.headers['x-request-id'];
  return isTrusted && typeof given === 'string' && UUID.test(given) ? given.toLowerCase() : randomUUID();
}

import { randomUUID } from 'node:crypto';

/**
 * The text form of a UUID (RFC 9562), of whatever version: Envoy, for one, keeps whether it traces a request in the
 * digit of the version.
 */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The id of a request, in lower case: the one that a trusted proxy gives, where it is a UUID, else a new one.
 * @param given the `X-Request-Id` of a trusted proxy; undefined where the peer is not one or gives none.
 */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && UUID.test(given) ? given.toLowerCase() : randomUUID();
}

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TrustedNetworks } from '@wherry/service/trusted-networks.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The id of a request: a trusted proxy's own where it is a UUID, else a new one. */
export function requestIdOf(request: IncomingMessage, trusted: TrustedNetworks): string {
  const given = request.headers['x-request-id'];
  const keep = typeof given === 'string' && UUID.test(given) && trusted(request.socket.remoteAddress);
  return keep ? given.toLowerCase() : randomUUID();
}

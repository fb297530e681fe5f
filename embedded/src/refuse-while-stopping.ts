import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { HeldPort } from '@wherry/service/hold-port.ts';
import { listenOnSockets } from '@wherry/service/listen-on-sockets.ts';

/** Nothing of a caller's is kept. */
const TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 256;

/** Answers that the service is stopping, in the API's error shape. */
export function refuseWhileStopping(code: 'not_ready' | 'unavailable'): RequestListener {
  return (_request, response) => {
    const requestId = randomUUID();
    const body = JSON.stringify({ error: 'The service is stopping. Try again shortly.', code, requestId });
    response.writeHead(503, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      'X-Request-Id': requestId,
      'Retry-After': '5',
      Connection: 'close',
    });
    response.end(body);
  };
}

/**
 * Answers calls in place of the router, which ends before the last instance does: the port stays the service's own, so
 * that no instance can listen there and receive callers' keys.
 */
export async function refuseCalls({ port, sockets }: HeldPort): Promise<void> {
  const server = createServer(
    { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, connectionsCheckingInterval: 1000 },
    refuseWhileStopping('not_ready'),
  );
  const names = { address: { port }, setting: 'FUNCTION_PORT', hostSetting: 'FUNCTION_HOST' };
  const { acceptors } = await listenOnSockets(server, sockets, names);
  for (const one of [server, ...acceptors]) one.maxConnections = MAX_CONNECTIONS;
}

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { InstanceAddress } from '@wherry/core/ports/workloads.ts';

/** The caller's headers (16 KiB at most, R9) and the router's own. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The server that takes calls. Its one client is the router, which closes idle connections itself and has checked
 * what it sends: so nothing here times out but a function.
 */
export function createCallServer(listener: RequestListener): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 0,
    requestTimeout: 0,
    headersTimeout: 0,
    noDelay: true,
  });
  server.maxHeadersCount = 0;
  server.on('request', listener);
  // What is no HTTP is not the router's: it gets no answer.
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

/**
 * Listens, and tells where: a port of 0 becomes the real one.
 * @param everywhere a pod's address is known to others before it is to itself: it listens on all that it has.
 */
export async function listen(server: Server, at: InstanceAddress, everywhere = false): Promise<InstanceAddress> {
  server.listen(everywhere && 'port' in at ? { port: at.port } : at);
  await once(server, 'listening');
  if ('path' in at) return at;
  return { host: at.host, port: (server.address() as AddressInfo).port };
}

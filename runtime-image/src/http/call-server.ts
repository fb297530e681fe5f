import { createServer, type RequestListener, type Server } from 'node:http';
import type { InstanceAddress } from '@wherry/core/ports/workloads.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';

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
  // What is not HTTP does not come from the router: it gets no answer.
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

/**
 * Listens, and returns where: a port of 0 becomes the real one.
 * @param everywhere a pod's address is known to others before the pod knows it: so it listens on all addresses.
 */
export async function listen(server: Server, at: InstanceAddress, everywhere = false): Promise<InstanceAddress> {
  const port = await listenOrFail(server, everywhere && 'port' in at ? { port: at.port } : at, 'start.listen');
  return 'path' in at ? at : { host: at.host, port };
}

import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartError } from '@wherry/service/start-error.ts';

/** Running requests get this long to finish when the service stops. */
const DRAIN_MS = 10_000;

/** Where the manager listens: a Unix socket that the router alone uses, or a port. */
export type ManagerAddress = string | { host: string; port: number };

/**
 * Serves the management API.
 * @returns the port in use, undefined for a socket, and how to let running requests finish and close it.
 * @throws StartError for a port that is taken or may not be opened.
 */
export async function listenManager(
  listener: RequestListener,
  address: ManagerAddress,
): Promise<{ port: number | undefined; close(): Promise<void> }> {
  const server = createServer(listener);
  try {
    server.listen(typeof address === 'string' ? { path: address } : address);
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(listenError(error as NodeJS.ErrnoException, address));
  }
  if (typeof address === 'string') chmodSync(address, 0o600);
  const bound = server.address();
  return {
    port: bound === null || typeof bound === 'string' ? undefined : (bound satisfies AddressInfo).port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

function listenError(error: NodeJS.ErrnoException, address: ManagerAddress): string {
  const where = typeof address === 'string' ? address : `Port ${address.port}`;
  if (error.code === 'EADDRINUSE') return `${where} is taken: stop what listens there, or set MANAGEMENT_PORT.`;
  if (error.code === 'EACCES') return `${where} may not be opened by this user: set MANAGEMENT_PORT to one over 1023.`;
  if (error.code === 'EADDRNOTAVAIL') return `This machine has not the address in MANAGEMENT_HOST.`;
  return `The management port cannot be opened (${error.code ?? error.message}).`;
}

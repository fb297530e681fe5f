import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { listenError, type PortAddress } from './listen-or-fail.ts';

/** A server that listens on several sockets. */
export interface Listening {
  port: number;
  /** They hand the connections of all sockets but the first to the server, and are closed when it is. */
  acceptors: Server[];
}

/**
 * Makes a server listen on sockets that are bound already: of this process, or inherited.
 * @param names of the address and its settings, for the error
 * @throws StartError as `listenOrFail` does
 */
export async function listenOnSockets(
  server: HttpServer,
  sockets: readonly { fd: number }[],
  names: { address: PortAddress; setting: string; hostSetting: string },
): Promise<Listening> {
  // As an HTTP server has them.
  const acceptors = sockets
    .slice(1)
    .map(() =>
      createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void server.emit('connection', socket)),
    );
  try {
    for (const [index, one] of [server, ...acceptors].entries()) {
      one.listen(sockets[index]);
      await once(one, 'listening');
    }
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, names.address, names);
  }
  return { port: (server.address() as AddressInfo).port, acceptors };
}

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Addresses, type Address } from './addresses.ts';
import { Pipeline, PipelinedRequests } from './pipeline.ts';
import { trustedNetworks } from './trusted-networks.ts';

interface BoundedConnectionsOptions {
  limits: { connections: number; connectionsPerAddress: number };
  /** Networks whose connections are bounded only together with all others. */
  trustedProxies: readonly string[];
  /** Requests of one connection that are answered at once. */
  maxOpen: number;
}

interface Connection {
  readonly address: Address<Connection>;
  readonly pipeline: Pipeline;
  close(): void;
}

/**
 * Bounds what unknown callers can make a server hold: connections, in all and from each address, where a new one
 * replaces an idle one, and the requests that are open on each of them. On a Unix socket there is no bound: only
 * another process of the same service connects there.
 */
export function boundConnections(server: Server, listener: RequestListener, options: BoundedConnectionsOptions): void {
  const connections = new BoundedConnections(listener, options);
  server.on('connection', (socket: Socket) => {
    if (typeof server.address() !== 'string') connections.add(socket);
  });
  server.on('request', (request, response) => connections.take(request, response));
}

class BoundedConnections {
  readonly #listener: RequestListener;
  readonly #maxOpen: number;
  readonly #addresses: Addresses<Connection>;
  readonly #pipelined = new PipelinedRequests();
  readonly #open = new Map<Socket, Connection>();

  constructor(listener: RequestListener, { limits, trustedProxies, maxOpen }: BoundedConnectionsOptions) {
    this.#listener = listener;
    this.#maxOpen = maxOpen;
    this.#addresses = new Addresses(limits, trustedNetworks(trustedProxies));
  }

  add(socket: Socket): void {
    const address = this.#enter(socket.remoteAddress);
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const connection: Connection = {
      address,
      pipeline: new Pipeline(socket, {
        begin: (request, response) => {
          address.fresh.delete(connection);
          address.idle.delete(connection);
          this.#listener(request, response);
        },
        maxOpen: this.#maxOpen,
        pipelined: this.#pipelined,
        onRead: () => undefined,
        onIdle: () => {
          if (this.#open.has(socket)) address.idle.add(connection);
        },
      }),
      close: () => {
        // Its slot is free at once, not when the socket is closed.
        this.#remove(socket, connection);
        socket.destroy();
      },
    };
    address.fresh.add(connection);
    this.#open.set(socket, connection);
    socket.once('close', () => this.#remove(socket, connection));
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(request.socket);
    if (connection === undefined) this.#listener(request, response);
    else connection.pipeline.take(request, response, false);
  }

  #enter(remote: string | undefined): Address<Connection> | undefined {
    const address = this.#addresses.enter(remote);
    if (address !== undefined) return address;
    for (const connection of this.#open.values()) {
      if (connection.pipeline.responses.every(isAnswered)) connection.address.idle.add(connection);
    }
    return this.#addresses.enter(remote);
  }

  #remove(socket: Socket, connection: Connection): void {
    const { address } = connection;
    if (!this.#open.delete(socket)) return;
    address.fresh.delete(connection);
    address.idle.delete(connection);
    this.#addresses.leave(address);
  }
}

/**
 * Whether nothing is left to do for a request: its answer only has to be read, or it is refused and the rest of its
 * body is thrown away. The caller may take as long as it likes for either.
 */
function isAnswered(response: ServerResponse): boolean {
  return response.writableEnded || (response.headersSent && response.statusCode >= 400);
}

import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Addresses, type Address } from '@wherry/service/addresses.ts';
import { trustedNetworks } from '@wherry/service/trusted-networks.ts';

/** Far below the file descriptors that a process usually has: the rest is for files, databases and instances. */
const LIMITS = { connections: 1024, connectionsPerAddress: 256 };
const HEADERS_TIMEOUT_MS = 10_000;
/** How often Node looks for connections whose head is late. */
const CHECK_INTERVAL_MS = 1000;

export interface ManagementServerOptions {
  /** Networks whose connections are bounded only together with all others. */
  trustedProxies: readonly string[];
  limits?: { connections: number; connectionsPerAddress: number };
  /** Milliseconds until a head must be complete. */
  headersTimeoutMs?: number;
}

interface Connection {
  readonly address: Address<Connection>;
  /** The answers that are not sent yet. */
  readonly responses: Set<ServerResponse>;
  close(): void;
}

/**
 * The HTTP server of the management port. It bounds connections before their callers are identified (M10), in all and
 * from each address: a new one takes the place of one that does nothing. On a Unix socket there is no bound: only the
 * router connects there.
 */
export function createManagementServer(listener: RequestListener, options: ManagementServerOptions): Server {
  const server = createServer({
    headersTimeout: options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, options.headersTimeoutMs ?? CHECK_INTERVAL_MS),
  });
  const connections = new ManagementConnections(options);
  server.on('connection', (socket: Socket) => {
    if (typeof server.address() !== 'string') connections.add(socket);
  });
  server.on('request', (request, response) => {
    connections.begin(request.socket, response);
    listener(request, response);
  });
  return server;
}

class ManagementConnections {
  readonly #addresses: Addresses<Connection>;
  readonly #open = new Map<Socket, Connection>();

  constructor({ limits = LIMITS, trustedProxies }: ManagementServerOptions) {
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
      responses: new Set(),
      close: () => {
        // Its place is free at once, not when the socket is closed.
        this.#remove(socket, connection);
        socket.destroy();
      },
    };
    address.fresh.add(connection);
    this.#open.set(socket, connection);
    socket.once('close', () => this.#remove(socket, connection));
  }

  begin(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    const { address, responses } = connection;
    responses.add(response);
    address.fresh.delete(connection);
    address.idle.delete(connection);
    response.once('close', () => {
      responses.delete(response);
      if (responses.size === 0 && this.#open.has(socket)) address.idle.add(connection);
    });
  }

  #enter(remote: string | undefined): Address<Connection> | undefined {
    const address = this.#addresses.enter(remote);
    if (address !== undefined) return address;
    for (const connection of this.#open.values()) {
      if ([...connection.responses].every(isAnswered)) connection.address.idle.add(connection);
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
 * body is thrown away. Either may last as long as the caller likes.
 */
function isAnswered(response: ServerResponse): boolean {
  return response.writableEnded || (response.headersSent && response.statusCode >= 400);
}

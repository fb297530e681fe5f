import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { Addresses, type Address } from '@wherry/service/addresses.ts';
import type { TrustedNetworks } from '@wherry/service/trusted-networks.ts';
import type { Chain } from '../chain.ts';
import type { Capacity } from '../limit/capacity.ts';
import { Pipeline, PipelinedRequests } from './pipeline.ts';

interface Connection {
  readonly pipeline: Pipeline;
  readonly address: Address<Connection>;
  close(): void;
  idleSince: number;
  /** Node no longer watches the head that it has begun to read. */
  isHeadUnwatched: boolean;
  cancelHead: () => void;
}

interface ConnectionsOptions {
  chain: Chain;
  clock: Clock;
  trusts: TrustedNetworks;
  capacity: Capacity;
  /** Milliseconds until a head must be complete. */
  headersTimeoutMs: number;
  /** Milliseconds from the end of an answer to the next call, its head included. */
  maxIdleMs: number;
}

/**
 * The connections of a server, how many there may be, and what is open on each. Ends those that are idle too long:
 * Node's own limit starts again with every byte, and line breaks between two calls are bytes (R11).
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #addresses: Addresses<Connection>;
  readonly #pipelined = new PipelinedRequests();
  readonly #connections = new Map<Socket, Connection>();
  #isDraining = false;
  #cancelSweep: () => void = () => undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#addresses = new Addresses(options.capacity, options.trusts);
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on('listening', () => this.#sweepLater());
    server.on('close', () => this.#cancelSweep());
  }

  /** Begins a call, or lets it wait until the connection has few enough. */
  take(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    const connection = this.#connections.get(req.socket);
    if (connection === undefined) return;
    connection.cancelHead();
    connection.pipeline.take(req, res, expectsContinue);
  }

  /**
   * Whether a head is late because the router does not read the connection: then it has its time from when it is read
   * again.
   */
  isHeld(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection?.pipeline.isHeld !== true) return false;
    connection.isHeadUnwatched = true;
    return true;
  }

  /** From now on each answer is its connection's last. */
  endAfterAnswers(): void {
    this.#isDraining = true;
    for (const { pipeline } of this.#connections.values()) {
      for (const res of pipeline.responses) markLast(res);
    }
  }

  #add(socket: Socket): void {
    const address = this.#addresses.enter(socket.remoteAddress);
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const connection: Connection = {
      pipeline: new Pipeline(socket, {
        begin: (req, res, expectsContinue) => this.#begin(connection, [req, res, expectsContinue]),
        pipelined: this.#pipelined,
        onRead: () => this.#watchHead(socket, connection),
      }),
      address,
      close: () => {
        // Its place is free at once, not when the socket is closed.
        this.#remove(socket, connection);
        socket.destroy();
      },
      idleSince: this.#options.clock.monotonic(),
      isHeadUnwatched: false,
      cancelHead: () => undefined,
    };
    address.fresh.add(connection);
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#remove(socket, connection));
  }

  #remove(socket: Socket, connection: Connection): void {
    const { address } = connection;
    if (!this.#connections.delete(socket)) return;
    connection.cancelHead();
    address.fresh.delete(connection);
    address.idle.delete(connection);
    this.#addresses.leave(address);
  }

  #begin(connection: Connection, call: Parameters<Chain>): void {
    const { address, pipeline } = connection;
    const [req, res] = call;
    if (pipeline.responses.size === 1) {
      address.fresh.delete(connection);
      address.idle.delete(connection);
    }
    if (this.#isDraining) markLast(res);
    res.once('close', () => {
      if (pipeline.responses.size > 0 || !this.#connections.has(req.socket)) return;
      connection.idleSince = this.#options.clock.monotonic();
      this.#addresses.rest(address, connection);
    });
    this.#options.chain(...call);
  }

  #watchHead(socket: Socket, connection: Connection): void {
    if (!connection.isHeadUnwatched) return;
    connection.isHeadUnwatched = false;
    const { clock, headersTimeoutMs } = this.#options;
    connection.cancelHead = clock.after(headersTimeoutMs, () => socket.destroy());
  }

  #sweepLater(): void {
    const { clock, maxIdleMs } = this.#options;
    this.#cancelSweep = clock.after(Math.min(5000, maxIdleMs), () => {
      const oldest = clock.monotonic() - maxIdleMs;
      for (const [socket, { pipeline, idleSince }] of this.#connections) {
        if (pipeline.responses.size === 0 && idleSince < oldest) socket.destroy();
      }
      this.#sweepLater();
    });
  }
}

function markLast(res: ServerResponse): void {
  if (!res.headersSent) res.shouldKeepAlive = false;
}

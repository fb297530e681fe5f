import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { Addresses } from '@wherry/service/addresses.ts';
import { PipelinedRequests } from '@wherry/service/pipeline.ts';
import type { TrustedNetworks } from '@wherry/service/trusted-networks.ts';
import type { Chain } from '../chain.ts';
import type { Capacity } from '../limit/capacity.ts';
import { Connection, type ConnectionParts } from './connection.ts';

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
 * The connections of a server, and how many there may be. Ends connections that are idle for too long: Node's own limit
 * starts again with every byte, and line breaks between two calls are bytes (R11).
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #parts: ConnectionParts;
  readonly #connections = new Map<Socket, Connection>();
  #isDraining = false;
  #cancelSweep: () => void = () => undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#parts = {
      ...options,
      addresses: new Addresses(options.capacity, options.trusts),
      pipelined: new PipelinedRequests(),
    };
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on('listening', () => this.#sweepLater());
    server.on('close', () => this.#cancelSweep());
  }

  /** Undefined for one that was refused. */
  of(socket: Socket): Connection | undefined {
    return this.#connections.get(socket);
  }

  /** From now on each answer is its connection's last. */
  endAfterAnswers(): void {
    this.#isDraining = true;
    for (const connection of this.#connections.values()) connection.endAfterAnswers();
  }

  #add(socket: Socket): void {
    const address = this.#parts.addresses.enter(socket.remoteAddress);
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, address, this.#parts);
    if (this.#isDraining) connection.endAfterAnswers();
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      connection.leave();
    });
  }

  #sweepLater(): void {
    const { clock, maxIdleMs } = this.#options;
    this.#cancelSweep = clock.after(Math.min(5000, maxIdleMs), () => {
      const oldest = clock.monotonic() - maxIdleMs;
      for (const connection of this.#connections.values()) connection.endIfIdleSince(oldest);
      this.#sweepLater();
    });
  }
}

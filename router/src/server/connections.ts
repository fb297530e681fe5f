import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';

interface Connection {
  readonly responses: Set<ServerResponse>;
  idleSince: number;
}

/**
 * The connections of a server and what is open on each. Ends those that are idle too long: Node's own limit starts anew
 * with every byte, and line breaks between two calls are bytes (R11).
 */
export class Connections {
  readonly #clock: Clock;
  readonly #maxIdleMs: number;
  readonly #connections = new Map<Socket, Connection>();
  #isDraining = false;
  #cancelSweep: () => void = () => undefined;

  /** @param maxIdleMs milliseconds from the end of an answer to the next call, its head included. */
  constructor(server: Server, clock: Clock, maxIdleMs: number) {
    this.#clock = clock;
    this.#maxIdleMs = maxIdleMs;
    server.on('connection', (socket: Socket) => this.#add(socket));
    const watch = (req: IncomingMessage, res: ServerResponse): void => this.#watch(req.socket, res);
    // Before the chain's own listeners, so that an answer can still be marked as the connection's last.
    server.prependListener('request', watch);
    server.prependListener('checkContinue', watch);
    server.on('listening', () => this.#sweepLater());
    server.on('close', () => this.#cancelSweep());
  }

  /** From now on each answer is its connection's last. */
  endAfterAnswers(): void {
    this.#isDraining = true;
    for (const { responses } of this.#connections.values()) {
      for (const res of responses) markLast(res);
    }
  }

  #add(socket: Socket): void {
    this.#connections.set(socket, { responses: new Set(), idleSince: this.#clock.monotonic() });
    socket.once('close', () => this.#connections.delete(socket));
  }

  #watch(socket: Socket, res: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    if (this.#isDraining) markLast(res);
    connection.responses.add(res);
    res.once('close', () => {
      connection.responses.delete(res);
      connection.idleSince = this.#clock.monotonic();
    });
  }

  #sweepLater(): void {
    this.#cancelSweep = this.#clock.after(Math.min(5000, this.#maxIdleMs), () => {
      const oldest = this.#clock.monotonic() - this.#maxIdleMs;
      for (const [socket, { responses, idleSince }] of this.#connections) {
        if (responses.size === 0 && idleSince < oldest) socket.destroy();
      }
      this.#sweepLater();
    });
  }
}

function markLast(res: ServerResponse): void {
  if (!res.headersSent) res.shouldKeepAlive = false;
}

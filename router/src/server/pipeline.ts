import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Chain } from '../chain.ts';

/** Calls of one connection that are answered at once. */
export const MAX_OPEN_CALLS = 8;

/** What waits in all: half of it is more than the smallest requests that Node parses at once. */
const MAX_PIPELINED = 8192;

/** A request that was read with others before it, and has not begun. */
type Request = Parameters<Chain>;

/** Requests that wait behind others of their own connections, of all connections together. */
export class PipelinedRequests {
  #waiting = 0;

  /** A connection may have as many as there is room left. @returns whether there was; then `leave` it. */
  enter(ofConnection: number): boolean {
    if (ofConnection >= MAX_PIPELINED - this.#waiting) return false;
    this.#waiting++;
    return true;
  }

  leave(count: number): void {
    this.#waiting -= count;
  }
}

/**
 * The calls of one connection: a few are open, the requests that came with them wait, and while any waits nothing more
 * is read from the socket (R12). Node reads up to 64 KiB at once, so that much is parsed and waits at most.
 */
export class Pipeline {
  readonly responses = new Set<ServerResponse>();
  readonly #socket: Socket;
  readonly #begin: Chain;
  readonly #pipelined: PipelinedRequests;
  readonly #onRead: () => void;
  #waiting: Request[] = [];

  /** @param onRead the socket is read again after requests had waited. */
  constructor(socket: Socket, options: { begin: Chain; pipelined: PipelinedRequests; onRead: () => void }) {
    this.#socket = socket;
    this.#begin = options.begin;
    this.#pipelined = options.pipelined;
    this.#onRead = options.onRead;
    // Node reads on when a body was read to its end, or an answer was sent.
    socket.on('resume', () => {
      if (this.isHeld) socket.pause();
    });
    socket.once('close', () => this.#end());
  }

  /** Whether requests wait, and the socket is not read. */
  get isHeld(): boolean {
    return this.#waiting.length > 0;
  }

  take(...request: Request): void {
    if (this.responses.size < MAX_OPEN_CALLS && !this.isHeld) this.#open(request);
    else if (this.#pipelined.enter(this.#waiting.length)) {
      this.#waiting.push(request);
      this.#socket.pause();
    } else this.#socket.destroy();
  }

  #open(request: Request): void {
    const [, res] = request;
    this.responses.add(res);
    res.once('close', () => {
      this.responses.delete(res);
      this.#openNext();
    });
    this.#begin(...request);
  }

  #openNext(): void {
    if (!this.isHeld || this.#socket.destroyed) return;
    while (this.responses.size < MAX_OPEN_CALLS) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#pipelined.leave(1);
      this.#open(next);
    }
    if (this.isHeld) return;
    this.#socket.resume();
    this.#onRead();
  }

  #end(): void {
    this.#pipelined.leave(this.#waiting.length);
    this.#waiting = [];
    // Node says so only of the answer whose turn it was: the other calls would run on.
    for (const res of [...this.responses]) if (res.socket === null) res.emit('close');
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that are answered at once, where callers pipeline for speed. */
export const MAX_OPEN_REQUESTS = 8;

/** How many may wait in total: half of it is more than the number of smallest requests that Node parses at once. */
const MAX_PIPELINED = 8192;

type Begin = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean) => void;

/** A request that was read with others before it, and has not begun. */
type Request = Parameters<Begin>;

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

interface PipelineOptions {
  begin: Begin;
  /** How many are answered at once. */
  maxOpen: number;
  pipelined: PipelinedRequests;
  /** The socket is read again after requests had waited. */
  onRead: () => void;
  /** The last of the open requests is over. */
  onIdle: () => void;
}

/**
 * The requests of one connection: a few are open, those that came with them wait, and while any of them waits, nothing
 * more is read from the socket (R12, M10). Node reads up to 64 KiB at once, so that much is parsed and waits at most.
 */
export class Pipeline {
  /**
   * Those of the open requests: a few. A Set would make a new table for nearly each request, and outlive it with that.
   */
  readonly responses: ServerResponse[] = [];
  readonly #socket: Socket;
  readonly #begin: Begin;
  readonly #maxOpen: number;
  readonly #pipelined: PipelinedRequests;
  readonly #onRead: () => void;
  readonly #onIdle: () => void;
  #waiting: Request[] = [];

  constructor(socket: Socket, options: PipelineOptions) {
    this.#socket = socket;
    this.#begin = options.begin;
    this.#maxOpen = options.maxOpen;
    this.#pipelined = options.pipelined;
    this.#onRead = options.onRead;
    this.#onIdle = options.onIdle;
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
    if (this.responses.length < this.#maxOpen && !this.isHeld) this.#open(request);
    else if (this.#pipelined.enter(this.#waiting.length)) {
      this.#waiting.push(request);
      this.#socket.pause();
    } else this.#socket.destroy();
  }

  #open(request: Request): void {
    const [, res] = request;
    this.responses.push(res);
    res.once('close', () => {
      this.responses.splice(this.responses.indexOf(res), 1);
      this.#openNext();
      if (this.responses.length === 0) this.#onIdle();
    });
    this.#begin(...request);
  }

  #openNext(): void {
    if (!this.isHeld || this.#socket.destroyed) return;
    while (this.responses.length < this.#maxOpen) {
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
    // Node reports it only to the answer whose turn it was; the others would keep running.
    for (const res of [...this.responses]) if (res.socket === null) res.emit('close');
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Address, Addresses } from '@wherry/service/addresses.ts';
import { MAX_OPEN_REQUESTS, Pipeline, type PipelinedRequests } from '@wherry/service/pipeline.ts';
import type { Chain } from '../chain.ts';

/** What all connections of a server share. */
export interface ConnectionParts {
  chain: Chain;
  clock: Clock;
  addresses: Addresses<Connection>;
  pipelined: PipelinedRequests;
  /** Milliseconds until a head must be complete. */
  headersTimeoutMs: number;
}

/** One connection of a caller: begins its calls, and counts as idle for its address while none is open. */
export class Connection {
  readonly #socket: Socket;
  readonly #address: Address<Connection>;
  readonly #parts: ConnectionParts;
  readonly #pipeline: Pipeline;
  #idleSince: number;
  /** Each answer is its last. */
  #isDraining = false;
  #hasLeft = false;
  /** Node no longer watches the head that it has begun to read. */
  #isHeadUnwatched = false;
  #cancelHead: () => void = () => undefined;

  /** @param address where it was counted; `leave` counts it no longer. */
  constructor(socket: Socket, address: Address<Connection>, parts: ConnectionParts) {
    this.#socket = socket;
    this.#address = address;
    this.#parts = parts;
    this.#pipeline = new Pipeline(socket, {
      begin: (req, res, expectsContinue) => this.#begin(req, res, expectsContinue),
      maxOpen: MAX_OPEN_REQUESTS,
      pipelined: parts.pipelined,
      onRead: () => this.#watchHead(),
      onIdle: () => this.#rest(),
    });
    this.#idleSince = parts.clock.monotonic();
    address.fresh.add(this);
  }

  /** Begins a call, or makes it wait until the connection has fewer calls. */
  take(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    if (this.#hasLeft) return;
    this.#cancelHead();
    this.#pipeline.take(req, res, expectsContinue);
  }

  /** From now on each answer is its last. */
  endAfterAnswers(): void {
    this.#isDraining = true;
    for (const res of this.#pipeline.responses) markLast(res);
  }

  /**
   * Whether a head is late because the router does not read the connection: then its time begins when it is read again.
   */
  excusesLateHead(): boolean {
    if (this.#hasLeft || !this.#pipeline.isHeld) return false;
    this.#isHeadUnwatched = true;
    return true;
  }

  /** Ends it where it has been idle since before that time. */
  endIfIdleSince(monotonic: number): void {
    if (this.#pipeline.responses.length === 0 && this.#idleSince < monotonic) this.#socket.destroy();
  }

  /** Gives way to another connection: its slot is free at once, not when the socket is closed. */
  close(): void {
    this.leave();
    this.#socket.destroy();
  }

  /** It is closed, or will be: it counts no longer. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#cancelHead();
    this.#leaveIdle();
    this.#parts.addresses.leave(this.#address);
  }

  #begin(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    if (this.#pipeline.responses.length === 1) this.#leaveIdle();
    if (this.#isDraining) markLast(res);
    this.#parts.chain(req, res, expectsContinue);
  }

  #rest(): void {
    if (this.#hasLeft) return;
    this.#idleSince = this.#parts.clock.monotonic();
    this.#parts.addresses.rest(this.#address, this);
  }

  #leaveIdle(): void {
    this.#address.fresh.delete(this);
    this.#address.idle.delete(this);
  }

  #watchHead(): void {
    if (!this.#isHeadUnwatched) return;
    this.#isHeadUnwatched = false;
    this.#cancelHead = this.#parts.clock.after(this.#parts.headersTimeoutMs, () => this.#socket.destroy());
  }
}

function markLast(res: ServerResponse): void {
  if (!res.headersSent) res.shouldKeepAlive = false;
}

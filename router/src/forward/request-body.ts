import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { ByteQueue } from '@wherry/service/byte-queue.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** As much may wait for the instance; then the caller's connection is read no further. */
const HELD_BYTES = 65_536;
/** Smaller chunks are passed on together with all that came with them: the parser reports each of them by itself. */
const SMALL_BYTES = 4096;

type BodyFailure = 'too_large' | 'too_slow';

/**
 * A request's body on its way to an instance: counted, cut at the limit (R9), held to a minimum pace (R11) from when an
 * instance first wants it, with no more than HELD_BYTES and what the parser had read with them in memory, however small
 * the caller's chunks are (R12). The request flows from the start: Node would keep what waits in it chunk by chunk, up
 * to 65,536 of them.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #onFailure: (failure: BodyFailure) => void;
  readonly #held = new ByteQueue();
  #bytes = 0;
  #windowBytes = 0;
  /** At some time in this window, the instance did not accept the data that was ready. */
  #wasHeld = false;
  #isPaced = false;
  #isWanted = false;
  #isWhole = false;
  /** More of what was read at once may follow. */
  #isGathering = false;
  /** The connection is not read, because too much is held. */
  #isHolding = false;
  #cancelPace: () => void = () => undefined;
  readonly #pause = (): void => void this.#request.socket.pause();

  constructor(
    request: IncomingMessage,
    options: { maxBytes: number; clock: Clock; onFailure: (failure: BodyFailure) => void },
  ) {
    // What is not wanted yet is held here, where small chunks are put together.
    super({ highWaterMark: 1 });
    this.#request = request;
    this.#maxBytes = options.maxBytes;
    this.#clock = options.clock;
    this.#onFailure = options.onFailure;
    // Errors of the caller's side show in the response's `close`; undici notices them through the destroyed stream.
    this.on('error', () => undefined);
    this.#receive();
  }

  override _read(): void {
    this.#isWanted = true;
    if (!this.#isPaced) this.#watchPace();
    if (!this.#isGathering) this.#give();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#cancelPace();
    this.#readOn();
    callback(error);
  }

  #receive(): void {
    this.#request.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#request.once('end', () => {
      this.#isWhole = true;
      this.#give();
    });
    this.#request.once('close', () => {
      if (!this.#request.complete) this.destroy(new Error('the caller disconnected'));
    });
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#bytes += chunk.length;
    this.#windowBytes += chunk.length;
    if (this.#bytes > this.#maxBytes) {
      this.#fail('too_large');
      return;
    }
    this.#held.add(chunk);
    if (chunk.length < SMALL_BYTES) this.#gather();
    else this.#give();
    if (this.#held.bytes >= HELD_BYTES) this.#hold();
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    setImmediate(() => {
      this.#isGathering = false;
      this.#give();
    });
  }

  /** Passes on what is held, a piece each time that one is wanted; then the end. */
  #give(): void {
    if (!this.#isWanted || this.destroyed) return;
    const piece = this.#held.take();
    if (piece === undefined && !this.#isWhole) return;
    this.#isWanted = false;
    this.push(piece ?? null);
    if (this.#held.bytes < HELD_BYTES) this.#readOn();
  }

  #hold(): void {
    const { socket } = this.#request;
    this.#wasHeld = true;
    // Node reads on when the request has emitted a chunk.
    if (!this.#isHolding) socket.on('resume', this.#pause);
    this.#isHolding = true;
    socket.pause();
  }

  #readOn(): void {
    if (!this.#isHolding) return;
    const { socket } = this.#request;
    this.#isHolding = false;
    socket.off('resume', this.#pause);
    socket.resume();
  }

  #watchPace(): void {
    this.#isPaced = true;
    this.#cancelPace = this.#clock.after(ROUTER_LIMITS.paceWindowMs, () => {
      if (this.#request.complete || this.destroyed) return;
      if (!this.#wasHeld && this.#windowBytes < ROUTER_LIMITS.paceBytes) {
        this.#fail('too_slow');
        return;
      }
      this.#windowBytes = 0;
      this.#wasHeld = this.#isHolding;
      this.#watchPace();
    });
  }

  #fail(failure: BodyFailure): void {
    this.#onFailure(failure);
    this.destroy(new Error(failure));
  }
}

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** A body that arrives more slowly than this over a whole window in which the router was reading is given up (R11). */
const PACE_WINDOW_MS = 10_000;
const PACE_MIN_BYTES = 640;

type BodyFailure = 'too_large' | 'too_slow';

/**
 * A request's body on its way to an instance: counted, cut at the limit (R9), held to a minimum pace (R11), with no
 * more than a few chunks in memory.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #onFailure: (failure: BodyFailure) => void;
  #bytes = 0;
  #windowBytes = 0;
  /** At some time in this window, the instance did not accept the data that was ready. */
  #wasHeld = false;
  #started = false;
  #cancelPace: () => void = () => undefined;

  constructor(
    request: IncomingMessage,
    options: { maxBytes: number; clock: Clock; onFailure: (failure: BodyFailure) => void },
  ) {
    super({ highWaterMark: 65_536 });
    this.#request = request;
    this.#maxBytes = options.maxBytes;
    this.#clock = options.clock;
    this.#onFailure = options.onFailure;
    // Errors of the caller's side show in the response's `close`; undici notices them through the destroyed stream.
    this.on('error', () => undefined);
  }

  override _read(): void {
    if (this.#started) {
      this.#request.resume();
      return;
    }
    this.#started = true;
    this.#watchPace();
    this.#request.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#request.once('end', () => this.push(null));
    this.#request.once('close', () => {
      if (!this.#request.complete) this.destroy(new Error('the caller disconnected'));
    });
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#cancelPace();
    callback(error);
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#bytes += chunk.length;
    this.#windowBytes += chunk.length;
    if (this.#bytes > this.#maxBytes) {
      this.#fail('too_large');
    } else if (!this.push(chunk)) {
      this.#wasHeld = true;
      this.#request.pause();
    }
  }

  #watchPace(): void {
    this.#cancelPace = this.#clock.after(PACE_WINDOW_MS, () => {
      if (this.#request.complete || this.destroyed) return;
      if (!this.#wasHeld && this.#windowBytes < PACE_MIN_BYTES) {
        this.#fail('too_slow');
        return;
      }
      this.#windowBytes = 0;
      this.#wasHeld = this.#request.isPaused();
      this.#watchPace();
    });
  }

  #fail(failure: BodyFailure): void {
    this.#onFailure(failure);
    this.destroy(new Error(failure));
  }
}

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** A body that comes slower than this, over a whole window in which it was wanted, is given up (R11). */
const PACE_WINDOW_MS = 10_000;
const PACE_MIN_BYTES = 640;

type BodyFailure = 'too_large' | 'too_slow';

/**
 * A request's body on its way to an instance: counted, cut at the limit (R9), held to a pace (R11), and no more than a
 * few chunks of it in memory.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #onFailure: (failure: BodyFailure) => void;
  #bytes = 0;
  #windowBytes = 0;
  /** The instance did not take what was there, at some time in this window. */
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
    // Errors of the caller's side show in the response's `close`; undici hears of them by the destroyed stream.
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
      if (!this.#request.complete) this.destroy(new Error('the caller went away'));
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

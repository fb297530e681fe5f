import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** Between two attempts to write to a peer whose buffer is full. */
const RETRY_MS = 2;

interface DescriptorSocketOptions {
  clock: Clock;
  /**
   * Writes some of the bytes without blocking; throws EAGAIN where the kernel takes none. Default: the descriptor's
   * own.
   */
  write?: (bytes: Uint8Array) => number;
}

type Done = (error?: Error | null) => void;

/**
 * A socket that was inherited. Node's own class keeps bytes that the kernel did not accept where only the event loop
 * can send them, and they are lost when the process exits. This one writes by itself, so that `drainSync` can finish
 * the writing after the event loop has ended.
 */
export class DescriptorSocket extends Socket {
  readonly #clock: Clock;
  readonly #writeSome: (bytes: Uint8Array) => number;
  #unwritten: Uint8Array = new Uint8Array();
  #done: Done | undefined;
  #cancelRetry = (): void => undefined;
  /** When the kernel last took some of it, on the monotonic clock. */
  #takenAt = 0;

  constructor(fd: number, { clock, write = (bytes) => writeSync(fd, bytes) }: DescriptorSocketOptions) {
    super({ fd, readable: true, writable: true });
    this.#clock = clock;
    this.#writeSome = write;
  }

  override _write(chunk: string | Uint8Array, encoding: BufferEncoding, done: Done): void {
    this.#unwritten = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    this.#done = done;
    this.#advance();
  }

  override _writev(chunks: { chunk: string | Uint8Array; encoding: BufferEncoding }[], done: Done): void {
    const bytes = chunks.map(({ chunk, encoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    );
    this._write(Buffer.concat(bytes), 'utf8', done);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#cancelRetry();
    this.#done = undefined;
    super._destroy(error, callback);
  }

  /**
   * Blocks until the kernel has accepted everything that was written, or nothing of it for this many milliseconds. Used
   * at the end of a process.
   */
  drainSync(withinMs: number): void {
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    this.#advance();
    this.#takenAt = this.#clock.monotonic();
    while (this.#done !== undefined && this.#clock.monotonic() < this.#takenAt + withinMs) {
      Atomics.wait(sleeper, 0, 0, RETRY_MS);
      this.#advance();
    }
  }

  /** Writes what the kernel takes. The callback of the last byte brings the next chunk at once, where one waits. */
  #advance(): void {
    this.#cancelRetry();
    const done = this.#done;
    if (done === undefined) return;
    try {
      while (this.#unwritten.length > 0) {
        this.#unwritten = this.#unwritten.subarray(this.#writeSome(this.#unwritten));
        this.#takenAt = this.#clock.monotonic();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
        this.#cancelRetry = this.#clock.after(RETRY_MS, () => this.#advance());
        return;
      }
      this.#done = undefined;
      return done(error as Error);
    }
    this.#done = undefined;
    done();
  }
}

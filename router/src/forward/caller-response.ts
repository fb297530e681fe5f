import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { endAfterBody } from '@wherry/service/end-after-body.ts';

interface CallerOptions {
  /** Releases the call's slot: an answer uses memory until the caller has read it. */
  release: () => void;
  /** The connection was closed before `end`. */
  onAborted: () => void;
}

/** The answer to the caller: streamed as it arrives, paused while the caller does not read. */
export class CallerResponse {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  #flushed = false;
  #ended = false;
  #cancelTimeout: (() => void) | undefined;

  constructor({ req, res }: { req: IncomingMessage; res: ServerResponse }, { release, onAborted }: CallerOptions) {
    this.#req = req;
    this.#res = res;
    res.once('close', () => {
      release();
      this.#cancelTimeout?.();
      if (!this.#ended) onAborted();
    });
  }

  /** Calls back where the caller has not read the whole answer within that time. */
  limitTime(clock: Clock, ms: number, onTimeout: () => void): void {
    this.#cancelTimeout = clock.after(ms, onTimeout);
  }

  get begun(): boolean {
    return this.#res.headersSent;
  }

  /** @throws Error for a status or header that must not be sent. */
  head(status: number, headers: string[]): void {
    this.#res.writeHead(status, headers);
    // Together with the first bytes of the body if they have arrived; alone if they are still to come (server-sent
    // events).
    process.nextTick(() => {
      if (!this.#flushed && !this.#res.writableEnded) this.#res.flushHeaders();
    });
  }

  /** @returns false when the caller reads too slowly; `resume` is then called once there is room. */
  data(chunk: Buffer, resume: () => void): boolean {
    this.#flushed = true;
    if (this.#res.write(chunk)) return true;
    this.#res.once('drain', resume);
    return false;
  }

  end(): void {
    this.#ended = true;
    endAfterBody(this.#req, this.#res);
  }

  /** Ends the connection in a way that the caller cannot mistake for a complete answer. */
  cut(): void {
    // HTTP/1.0 has no chunks: there, a plain close marks the end of a complete body.
    if (this.#req.httpVersion === '1.0') this.#req.socket.resetAndDestroy();
    else this.#req.socket.destroy();
  }
}

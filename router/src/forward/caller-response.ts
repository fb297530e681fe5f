import type { IncomingMessage, ServerResponse } from 'node:http';
import { endAfterBody } from '@wherry/service/end-after-body.ts';

/** The answer on its way to the caller: streamed as it comes, held back while the caller does not read. */
export class CallerResponse {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  #flushed = false;

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req;
    this.#res = res;
  }

  get begun(): boolean {
    return this.#res.headersSent;
  }

  /** @throws Error for a status or header that must not be sent. */
  head(status: number, headers: string[]): void {
    this.#res.writeHead(status, headers);
    // With the first bytes of the body where they came along; alone where they are still to come (server-sent events).
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
    endAfterBody(this.#req, this.#res);
  }

  /** Ends the connection so that the caller cannot take what it got for the whole. */
  cut(): void {
    // HTTP/1.0 has no chunks: there a plain close is how a whole body ends.
    if (this.#req.httpVersion === '1.0') this.#req.socket.resetAndDestroy();
    else this.#req.socket.destroy();
  }
}

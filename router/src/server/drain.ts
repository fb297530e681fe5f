import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';

const POLL_MS = 50;

export interface DrainOptions {
  /** Milliseconds in which it still accepts, telling callers to reconnect: for balancers that learn late. */
  lameDuckMs: number;
  /** Milliseconds after which calls that still run are cut. */
  boundMs: number;
}

/** Lets a server go without failing a call. */
export class Drain {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #open = new Set<ServerResponse>();
  #isDraining = false;

  constructor(server: Server, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    const watch = (_req: IncomingMessage, res: ServerResponse): void => this.#watch(res);
    // Before the chain's own listeners, so that an answer can still be marked as the connection's last.
    server.prependListener('request', watch);
    server.prependListener('checkContinue', watch);
  }

  /** @returns once every connection is closed. */
  async run(options: DrainOptions): Promise<void> {
    this.#isDraining = true;
    for (const res of this.#open) this.#markLast(res);
    if (options.lameDuckMs > 0) await this.#clock.sleep(options.lameDuckMs);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const cancelBound = this.#clock.after(options.boundMs, () => this.#server.closeAllConnections());
    const cancelPoll = this.#poll();
    await closed;
    cancelBound();
    cancelPoll();
  }

  #watch(res: ServerResponse): void {
    if (this.#isDraining) this.#markLast(res);
    this.#open.add(res);
    res.once('close', () => this.#open.delete(res));
  }

  #markLast(res: ServerResponse): void {
    if (!res.headersSent) res.shouldKeepAlive = false;
  }

  /** Connections whose answer had begun before the drain are kept alive by it; they close when they are idle. */
  #poll(): () => void {
    let cancel = (): void => undefined;
    const again = (): void => {
      this.#server.closeIdleConnections();
      cancel = this.#clock.after(POLL_MS, again);
    };
    again();
    return () => cancel();
  }
}

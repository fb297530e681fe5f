import { connect, type TLSSocket } from 'node:tls';
import type { Hello } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '../backoff.ts';
import { parseFeedAddress } from './feed-address.ts';
import { jsonLines } from './json-lines.ts';
import { watchSilence } from './watch-silence.ts';

/** A connection that lasted for ten seconds counts as healthy: the next one is attempted at once. */
const RETRY = { firstMs: 100, lastMs: 5000, healthyMs: 10_000 };
const CONNECT_MS = 5000;
const MISSED_HEARTBEATS = 3;
/** Bytes that wait for an operator which does not read, before the connection is given up. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** How long the final messages may make no progress. */
const CLOSE_MS = 1000;

/** The authorities to trust, and the client's own certificate where it needs one. PEM texts. */
export interface FeedCredentials {
  ca: string;
  cert?: string;
  key?: string;
}

export interface FeedConnectionOptions {
  /** `host:port` of the operators' feed. */
  address: string;
  /** Called at each connection: files may have changed. */
  credentials(): FeedCredentials | Promise<FeedCredentials>;
  /** Called at each connection. */
  hello(): Hello | Promise<Hello>;
  /** Serves one connection: resolves at its end, or when it is of no use; then another one is made. */
  serve(channel: FeedChannel): Promise<void>;
  clock: Clock;
  logger: Logger;
}

export interface FeedConnection {
  /** Whether there is a connection, as far as is known. */
  isConnected(): boolean;
  /** Ends it for good, after what was sent before has been written, or when its peer takes none of it for a second. */
  stop(): Promise<void>;
}

/**
 * Keeps a connection to the operators' feed, over TLS 1.3: hello, then whatever `serve` does. It reconnects with
 * backoff whenever the connection ends or three heartbeats are missing, and never gives up: the last state stays active
 * meanwhile.
 */
export function connectFeed(options: FeedConnectionOptions): FeedConnection {
  const connection = new ReconnectingFeed(options);
  return { isConnected: () => connection.isConnected, stop: () => connection.stop() };
}

class ReconnectingFeed {
  readonly #options: FeedConnectionOptions;
  readonly #target: { host: string; port: number };
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #socket: TLSSocket | undefined;
  #reported = '';

  constructor(options: FeedConnectionOptions) {
    this.#options = options;
    this.#target = parseFeedAddress(options.address);
    this.#ended = this.#run();
  }

  get isConnected(): boolean {
    return this.#socket !== undefined;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const socket = this.#socket;
    // Node's own timeout of a socket also sees that a part of a long write was taken.
    socket?.setTimeout(CLOSE_MS, () => socket.destroy()).end();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    const backoff = new Backoff(RETRY);
    while (!signal.aborted) {
      const livedMs = await this.#once();
      await clock.sleep(backoff.failed(livedMs), signal).catch(() => undefined);
    }
  }

  /** One connection, from its making to its end. Never throws. @returns how long it lived, in milliseconds. */
  async #once(): Promise<number> {
    const { address, clock, logger } = this.#options;
    let since = Infinity;
    try {
      const hello = await this.#options.hello();
      const socket = await this.#connect(await this.#options.credentials());
      since = clock.monotonic();
      this.#reported = '';
      logger.info({ address }, 'connected to the feed');
      await this.#serve(socket, hello);
      if (!this.#stopping.signal.aborted) logger.info({ address }, 'the feed has ended; the last state stays active');
    } catch (error) {
      this.#report(error as Error);
    }
    return clock.monotonic() - since;
  }

  async #serve(socket: TLSSocket, hello: Hello): Promise<void> {
    const { address, clock, logger } = this.#options;
    this.#socket = socket;
    const channel = jsonLines(socket, { maxBufferedBytes: MAX_BUFFERED_BYTES });
    const onSilence = (): void => logger.warn({ address }, 'the feed is silent; reconnecting');
    const cancelWatch = watchSilence(socket, { clock, heartbeats: MISSED_HEARTBEATS, onSilence });
    try {
      channel.send(hello);
      await this.#options.serve(channel);
    } finally {
      cancelWatch();
      // When stopped, queued messages are sent first.
      if (this.#stopping.signal.aborted) await channel.closed;
      channel.close();
      this.#socket = undefined;
    }
  }

  /** Logs each problem once, not at each attempt. */
  #report(error: Error & { code?: string }): void {
    if (this.#stopping.signal.aborted) return;
    const problem = error.code === undefined ? error.message : `${error.code}: ${error.message}`;
    if (problem !== this.#reported)
      this.#options.logger.warn(
        { address: this.#options.address, problem },
        'cannot connect to the feed; trying again',
      );
    this.#reported = problem;
  }

  #connect(credentials: FeedCredentials): Promise<TLSSocket> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const socket = connect({ ...this.#target, ...credentials, minVersion: 'TLSv1.3' });
      socket.setNoDelay(true);
      const give = (error: Error): void => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        socket.destroy();
        reject(error);
      };
      const onAbort = (): void => give(new Error('the connection is being stopped'));
      const cancel = clock.after(CONNECT_MS, () => give(new Error(`no answer within ${CONNECT_MS / 1000} s`)));
      signal.addEventListener('abort', onAbort, { once: true });
      socket.once('error', give);
      socket.once('secureConnect', () => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        socket.off('error', give);
        resolve(socket);
      });
    });
  }
}

import { connect, type TLSSocket } from 'node:tls';
import type { Hello } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '../backoff.ts';
import { parseFeedAddress } from './feed-address.ts';
import { jsonLines } from './json-lines.ts';
import { watchSilence } from './watch-silence.ts';

/** A connection that lived for ten seconds was well: the next one is tried at once again. */
const RETRY = { firstMs: 100, lastMs: 5000, healthyMs: 10_000 };
const CONNECT_MS = 5000;
const MISSED_HEARTBEATS = 3;
/** Bytes that wait for an operator which does not read, before the connection is given up. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** How long the last words may take. */
const CLOSE_MS = 1000;

/** Whom to trust, and who one is where that is shown by a certificate. PEM texts. */
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
  /** Serves one connection: resolves at its end, or where it is of no use, whereupon another one is made. */
  serve(channel: FeedChannel): Promise<void>;
  clock: Clock;
  logger: Logger;
}

export interface FeedConnection {
  /** Whether there is a connection, as far as is known. */
  isConnected(): boolean;
  /** Ends it for good; what was sent before goes out first. */
  stop(): Promise<void>;
}

/**
 * Keeps a connection to the operators' feed, over TLS 1.3: hello, then whatever `serve` does. It is made again, by and
 * by, whenever it ends or three heartbeats are missing, and never given up: what was learned stays active meanwhile.
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
    if (socket !== undefined) {
      const cancel = this.#options.clock.after(CLOSE_MS, () => socket.destroy());
      socket.end();
      socket.once('close', cancel);
    }
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
      logger.info({ address }, 'the feed is connected');
      await this.#serve(socket, hello);
      if (!this.#stopping.signal.aborted) logger.info({ address }, 'the feed has ended; what was learned stays active');
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
      // Being stopped, what waits to be sent goes out first.
      if (this.#stopping.signal.aborted) await channel.closed;
      channel.close();
      this.#socket = undefined;
    }
  }

  /** Each problem once, not at each attempt. */
  #report(error: Error & { code?: string }): void {
    if (this.#stopping.signal.aborted) return;
    const problem = error.code === undefined ? error.message : `${error.code}: ${error.message}`;
    if (problem !== this.#reported)
      this.#options.logger.warn(
        { address: this.#options.address, problem },
        'the feed cannot be connected; trying again',
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
      const onAbort = (): void => give(new Error('it is stopped'));
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

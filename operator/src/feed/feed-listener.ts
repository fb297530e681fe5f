import { constants, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import { helloSchema, type Hello } from '@wherry/core/feed/messages.ts';
import { isFeedToken } from '@wherry/core/feed/feed-token.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Gauge, Metrics } from '@wherry/core/ports/metrics.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { watchSilence } from '@wherry/service/feed/watch-silence.ts';
import { StartError } from '@wherry/service/start-error.ts';
import type { TlsFiles } from '@wherry/service/tls/tls-files.ts';
import { firstLine } from './first-line.ts';
import { Strangers, type StrangerLimits } from './strangers.ts';

export type RouterHello = Extract<Hello, { role: 'router' }>;
export type RuntimeHello = Extract<Hello, { role: 'runtime' }>;

/** The common name of the certificates that the internal authority gives to routers. */
const ROUTER_COMMON_NAME = 'router';

const HELLO_MS = 5000;
const MAX_HELLO_BYTES = 4096;
/** A runtime runs other people's code: its lines are batches of log entries, 1 MiB of text each. */
const MAX_RUNTIME_LINE_BYTES = 8 * 1024 * 1024;
const KEEP_ALIVE_MS = 10_000;
/**
 * Heartbeats that a client may leave unanswered. A router that is gone without a word (its node, say) holds up what waits
 * for every router; a runtime's event loop may be busy with a call.
 */
const MISSED_HEARTBEATS: Record<Hello['role'], number> = { router: 5, runtime: 60 };

export interface FeedListenerOptions {
  /** The operator's own certificate, and the internal authority that routers' certificates must be of. */
  tls: Pick<TlsFiles, 'current' | 'onChange'>;
  /** Serves a router that has shown its certificate. Where it throws, or when the promise rejects, the connection ends. */
  attachRouter(channel: FeedChannel, hello: RouterHello): Promise<void> | void;
  /** Serves a runtime that has shown its function's token; which pod it is, is for this one to find out. */
  attachRuntime(channel: FeedChannel, hello: RuntimeHello): Promise<void> | void;
  /** The current feed key, and the previous one while it is still taken. */
  feedKeys(): readonly KeyObject[];
  limits?: StrangerLimits;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

export interface FeedListener {
  /** @returns the port. @throws StartError where it cannot be opened. */
  listen(port: number, host?: string): Promise<number>;
  /** Ends every connection; clients come back to another operator. */
  close(): Promise<void>;
}

type Refusal = 'too_many' | 'handshake' | 'certificate' | 'no_hello' | 'bad_hello' | 'token' | 'attach';

/**
 * The operator's side of the feed over the network: TLS 1.3, then a hello within five seconds that proves who speaks, else
 * the connection is cut without a word. Routers prove themselves by a client certificate, runtimes by their token.
 */
export function createFeedListener(options: FeedListenerOptions): FeedListener {
  const listener = new TlsFeedListener(options);
  return { listen: (port, host) => listener.listen(port, host), close: () => listener.close() };
}

class TlsFeedListener {
  readonly #options: FeedListenerOptions;
  readonly #server: Server;
  readonly #strangers: Strangers;
  readonly #sockets = new Set<Socket>();
  /** By instance: one connection each, the newest. */
  readonly #runtimes = new Map<string, FeedChannel>();
  readonly #stopFollowing: () => void;
  readonly #connections: Gauge;
  readonly #refusals: Counter;

  constructor(options: FeedListenerOptions) {
    const { tls, limits, clock, metrics } = options;
    this.#options = options;
    this.#strangers = new Strangers(limits);
    this.#connections = metrics.gauge('feed_connections', 'Clients that the feed serves, by role.', ['role']);
    this.#refusals = metrics.counter('feed_refusals_total', 'Connections to the feed that were cut, by reason.', ['reason']);
    this.#server = createServer({
      ...secureContext(tls),
      // Runtimes have none: what a certificate is good for is looked at with the hello.
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: HELLO_MS,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    this.#stopFollowing = tls.onChange(() => this.#server.setSecureContext(secureContext(tls)));
    this.#server.on('connection', (socket: Socket) => this.#admit(socket));
    this.#server.on('tlsClientError', (error: Error, socket: TLSSocket) => this.#refuse(socket, 'handshake', { problem: error.message }));
    this.#server.on('secureConnection', (socket) => {
      const cancel = clock.after(HELLO_MS, () => this.#refuse(socket, 'no_hello'));
      void this.#greet(socket).finally(cancel);
    });
  }

  async listen(port: number, host?: string): Promise<number> {
    try {
      this.#server.listen({ port, ...(host === undefined ? {} : { host }) });
      await once(this.#server, 'listening');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new StartError(`The feed port ${port} cannot be opened (${code ?? message}): set WHERRY_FEED_PORT to another one.`);
    }
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Before TLS: sockets cost something as soon as they are there. */
  #admit(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (!this.#strangers.admit(socket)) this.#refuse(socket, 'too_many');
  }

  async #greet(socket: TLSSocket): Promise<void> {
    socket.on('error', () => socket.destroy());
    if (isImpostor(socket)) return this.#refuse(socket, 'certificate', { problem: String(socket.authorizationError) });
    const line = await firstLine(socket, MAX_HELLO_BYTES);
    // Cut meanwhile: it is told already.
    if (socket.destroyed) return;
    const hello = line === undefined ? undefined : parseHello(line);
    if (hello === undefined) return this.#refuse(socket, line === undefined ? 'no_hello' : 'bad_hello');
    const { role, instance } = hello;
    if (hello.role === 'router' && !isRouter(socket)) return this.#refuse(socket, 'certificate', { role, instance });
    if (hello.role === 'runtime' && !isFeedToken(hello.token, hello.functionUid, this.#options.feedKeys())) {
      return this.#refuse(socket, 'token', { role, instance, functionUid: hello.functionUid });
    }
    this.#strangers.knows(socket);
    await this.#serve(socket, hello);
  }

  async #serve(socket: TLSSocket, hello: Hello): Promise<void> {
    const { role, instance } = hello;
    const { logger } = this.#options;
    const channel = onlyOneHello(jsonLines(socket, role === 'runtime' ? { maxLineBytes: MAX_RUNTIME_LINE_BYTES } : {}));
    const cancelWatch = watchSilence(socket, { clock: this.#options.clock, heartbeats: MISSED_HEARTBEATS[role] });
    this.#connections.inc({ role }, 1);
    void channel.closed.then(() => {
      cancelWatch();
      this.#connections.inc({ role }, -1);
    });
    logger.debug({ role, instance, peer: socket.remoteAddress }, 'a client of the feed has come');
    try {
      if (hello.role === 'router') await this.#options.attachRouter(channel, hello);
      else await this.#attachRuntime(channel, hello);
    } catch (error) {
      this.#refuse(socket, 'attach', { role, instance, problem: (error as Error).message });
    }
  }

  /** A handler may open as many connections as it likes with its own token; it holds one an instance. */
  async #attachRuntime(channel: FeedChannel, hello: RuntimeHello): Promise<void> {
    const id = `${hello.functionUid}/${hello.instance}`;
    this.#runtimes.get(id)?.close();
    this.#runtimes.set(id, channel);
    void channel.closed.then(() => this.#runtimes.get(id) === channel && this.#runtimes.delete(id));
    await this.#options.attachRuntime(channel, hello);
  }

  /** What is told of a stranger is no secret of a client's: neither tokens nor what else it sent. */
  #refuse(socket: Socket, reason: Refusal, facts: object = {}): void {
    this.#refusals.inc({ reason });
    const { remoteAddress: peer } = socket;
    if (reason === 'certificate' || reason === 'token') this.#options.logger.warn({ reason, peer, ...facts }, 'a client of the feed was refused');
    else this.#options.logger.debug({ reason, peer, ...facts }, 'a connection to the feed was cut');
    socket.destroy();
  }
}

function secureContext(tls: FeedListenerOptions['tls']): SecureContextOptions {
  // No tickets: each connection shows its certificate anew, to the authority that is in force then.
  return { ...tls.current(), minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET };
}

/** Whether it showed a certificate that is not of the internal authority. */
function isImpostor(socket: TLSSocket): boolean {
  return !socket.authorized && Object.keys(socket.getPeerCertificate()).length > 0;
}

function isRouter(socket: TLSSocket): boolean {
  return socket.authorized && socket.getPeerCertificate().subject.CN === ROUTER_COMMON_NAME;
}

function parseHello(line: string): Hello | undefined {
  try {
    return helloSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** Who a connection is of is settled: a second hello ends it. */
function onlyOneHello(channel: FeedChannel): FeedChannel {
  return {
    ...channel,
    async *messages() {
      for await (const message of channel.messages()) {
        if ((message as { type?: unknown } | null)?.type === 'hello') return;
        yield message;
      }
    },
  };
}

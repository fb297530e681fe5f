import { constants, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import { helloSchema, type Hello } from '@wherry/core/feed/messages.ts';
import { isFeedToken } from '@wherry/core/feed/feed-token.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { RuntimeHello, RuntimePeer } from '@wherry/core/ports/cluster-workloads.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Gauge, Metrics } from '@wherry/core/ports/metrics.ts';
import type { RuntimeIdentity } from '@wherry/core/ports/runtime-feed.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { runtimeLines } from '@wherry/service/feed/runtime-lines.ts';
import { watchSilence } from '@wherry/service/feed/watch-silence.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import type { TlsFiles } from '@wherry/service/tls/tls-files.ts';
import { plainAddress } from '@wherry/service/trusted-networks.ts';
import { firstLine } from './first-line.ts';
import { PendingConnections, type PendingLimits } from './pending-connections.ts';

type RouterHello = Extract<Hello, { role: 'router' }>;

/** The common name of the certificates that the internal authority gives to routers. */
const ROUTER_COMMON_NAME = 'router';

const HELLO_MS = 5000;
const MAX_HELLO_BYTES = 4096;
const KEEP_ALIVE_MS = 10_000;
/**
 * Heartbeats that a client may leave unanswered. A router that disappears without closing its connection (with its
 * node, for example) delays what waits for every router; a runtime's event loop may be busy with a call.
 */
const MISSED_HEARTBEATS: Record<Hello['role'], number> = { router: 5, runtime: 60 };

export interface FeedListenerOptions {
  /** The operator's own certificate, and the internal authority that must have issued the routers' certificates. */
  tls: Pick<TlsFiles, 'current' | 'onChange'>;
  /**
   * Serves a router that has presented its certificate. Where it throws, or when the promise rejects, the connection
   * ends.
   */
  attachRouter(channel: FeedChannel, hello: RouterHello): Promise<void> | void;
  /**
   * The pod of a runtime that has presented its function's token, by the address that it connects from; undefined if
   * there is none.
   */
  identifyRuntime(hello: RuntimeHello, peer: RuntimePeer): Promise<RuntimeIdentity | undefined>;
  /** Serves a runtime. Where it throws, or when the promise rejects, the connection ends. */
  attachRuntime(channel: FeedChannel, identity: RuntimeIdentity): Promise<void> | void;
  /** The current feed key, and the previous one while it is still accepted. */
  feedKeys(): readonly KeyObject[];
  limits?: PendingLimits;
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

type Refusal = 'too_many' | 'handshake' | 'certificate' | 'no_hello' | 'bad_hello' | 'token' | 'pod' | 'attach';

/** A client claims to be what it is not. */
const CLAIMS: ReadonlySet<Refusal> = new Set(['certificate', 'token', 'pod']);

/** The authenticated client of a connection. */
type Client = { role: 'router'; hello: RouterHello } | { role: 'runtime'; identity: RuntimeIdentity };

/**
 * The operator's side of the feed over the network: TLS 1.3, then a hello within five seconds that authenticates the
 * client; otherwise the connection is closed without a message. Routers authenticate with a client certificate,
 * runtimes with their function's token and the address of their pod. A pod has one connection, the newest: a half-open
 * one does not lock it out.
 */
export function createFeedListener(options: FeedListenerOptions): FeedListener {
  const listener = new TlsFeedListener(options);
  return { listen: (port, host) => listener.listen(port, host), close: () => listener.close() };
}

class TlsFeedListener {
  readonly #options: FeedListenerOptions;
  readonly #server: Server;
  readonly #pending: PendingConnections;
  readonly #sockets = new Set<Socket>();
  /** By pod: one connection each, the newest. */
  readonly #runtimes = new Map<string, FeedChannel>();
  readonly #stopFollowing: () => void;
  readonly #connections: Gauge;
  readonly #refusals: Counter;

  constructor(options: FeedListenerOptions) {
    const { tls, limits, clock, metrics } = options;
    this.#options = options;
    this.#pending = new PendingConnections(clock, limits);
    this.#connections = metrics.gauge(METRICS.feedConnections);
    this.#refusals = metrics.counter(METRICS.feedRefusals);
    this.#server = createServer({
      ...secureContext(tls),
      // Runtimes have none: the certificate is checked with the hello.
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: HELLO_MS,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    this.#stopFollowing = tls.onChange(() => this.#server.setSecureContext(secureContext(tls)));
    this.#server.on('connection', (socket: Socket) => this.#admit(socket));
    this.#server.on('tlsClientError', (error: Error, socket: TLSSocket) =>
      this.#refuse(socket, 'handshake', { problem: error.message }),
    );
    this.#server.on('secureConnection', (socket) => void this.#greet(socket));
  }

  listen(port: number, host?: string): Promise<number> {
    return listenOrFail(this.#server, { port, host }, 'WHERRY_FEED_PORT', 'WHERRY_FEED_HOST');
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Before TLS: sockets cost something as soon as they are open. */
  #admit(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const excess = this.#pending.admit(socket);
    if (excess !== undefined) this.#refuse(excess, 'too_many');
  }

  async #greet(socket: TLSSocket): Promise<void> {
    socket.on('error', () => socket.destroy());
    const hello = await this.#hear(socket);
    const client = hello && (await this.#prove(socket, hello));
    if (client === undefined) return;
    this.#pending.release(socket);
    await this.#serve(socket, client);
  }

  /** @returns who the client claims to be; undefined when the connection is closed. */
  async #hear(socket: TLSSocket): Promise<Hello | undefined> {
    if (isImpostor(socket)) return this.#refuse(socket, 'certificate', { problem: String(socket.authorizationError) });
    const cancel = this.#options.clock.after(HELLO_MS, () => this.#refuse(socket, 'no_hello'));
    const line = await firstLine(socket, MAX_HELLO_BYTES);
    cancel();
    // It was closed meanwhile, and counted.
    if (socket.destroyed) return undefined;
    const hello = line === undefined ? undefined : parseHello(line);
    return hello ?? this.#refuse(socket, line === undefined ? 'no_hello' : 'bad_hello');
  }

  /** @returns who the client is; undefined when it is not who it claims to be, and the connection is closed. */
  #prove(socket: TLSSocket, hello: Hello): Client | undefined | Promise<Client | undefined> {
    const { role, instance } = hello;
    if (hello.role === 'router')
      return isRouter(socket) ? { role: 'router', hello } : this.#refuse(socket, 'certificate', { role, instance });
    return this.#proveRuntime(socket, hello);
  }

  async #proveRuntime(socket: TLSSocket, hello: RuntimeHello): Promise<Client | undefined> {
    const { role, instance, functionUid } = hello;
    if (!isFeedToken(hello.token, functionUid, this.#options.feedKeys()))
      return this.#refuse(socket, 'token', { role, instance, functionUid });
    const identity = await this.#options.identifyRuntime(hello, peerOf(socket));
    if (socket.destroyed) return undefined;
    return identity === undefined
      ? this.#refuse(socket, 'pod', { role, instance, functionUid })
      : { role: 'runtime', identity };
  }

  async #serve(socket: TLSSocket, client: Client): Promise<void> {
    const { role } = client;
    const { logger } = this.#options;
    const instance = client.role === 'router' ? client.hello.instance : client.identity.instanceId;
    const channel = onlyOneHello(role === 'runtime' ? runtimeLines(socket, this.#options.clock) : jsonLines(socket));
    const cancelWatch = watchSilence(socket, { clock: this.#options.clock, heartbeats: MISSED_HEARTBEATS[role] });
    this.#connections.inc({ role }, 1);
    void channel.closed.then(() => {
      cancelWatch();
      this.#connections.inc({ role }, -1);
    });
    logger.debug({ role, instance, peer: socket.remoteAddress }, 'a client has connected to the feed');
    try {
      if (client.role === 'router') await this.#options.attachRouter(channel, client.hello);
      else await this.#attachRuntime(channel, client.identity);
    } catch (error) {
      this.#refuse(socket, 'attach', { role, instance, problem: (error as Error).message });
    }
  }

  async #attachRuntime(channel: FeedChannel, identity: RuntimeIdentity): Promise<void> {
    const { instanceId } = identity;
    this.#runtimes.get(instanceId)?.close();
    this.#runtimes.set(instanceId, channel);
    void channel.closed.then(() => this.#runtimes.get(instanceId) === channel && this.#runtimes.delete(instanceId));
    await this.#options.attachRuntime(channel, identity);
  }

  /**
   * What is logged about an unauthenticated connection contains no secret of a client: neither tokens nor anything else
   * that it sent.
   */
  #refuse(socket: Socket, reason: Refusal, facts: object = {}): undefined {
    this.#refusals.inc({ reason });
    const { remoteAddress: peer } = socket;
    if (CLAIMS.has(reason)) this.#options.logger.warn({ reason, peer, ...facts }, 'a client of the feed was refused');
    else this.#options.logger.debug({ reason, peer, ...facts }, 'a connection to the feed was cut');
    socket.destroy();
  }
}

function secureContext(tls: FeedListenerOptions['tls']): SecureContextOptions {
  // No tickets: each connection presents its certificate again, and it is checked against the authority that is active
  // then.
  return { ...tls.current(), minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET };
}

/** Whether it presented a certificate that the internal authority has not issued. */
function isImpostor(socket: TLSSocket): boolean {
  return !socket.authorized && Object.keys(socket.getPeerCertificate()).length > 0;
}

function isRouter(socket: TLSSocket): boolean {
  return socket.authorized && socket.getPeerCertificate().subject.CN === ROUTER_COMMON_NAME;
}

function peerOf(socket: TLSSocket): RuntimePeer {
  const ended = new AbortController();
  socket.once('close', () => ended.abort());
  return { address: plainAddress(socket.remoteAddress ?? ''), gone: ended.signal };
}

function parseHello(line: string): Hello | undefined {
  try {
    return helloSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** The client of a connection is determined once: a second hello ends it. */
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

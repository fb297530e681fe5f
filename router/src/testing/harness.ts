import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDigestKey, keyDigest } from '@wherry/core/crypto/key-digest.ts';
import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import {
  routerUpSchema,
  type RouterDown,
  type RouterFunction,
  type RouterInstance,
  type RouterKey,
  type RouterUp,
} from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { buildRouter, type Router, type RouterOptions } from '../build-router.ts';

const DIGEST_SECRET = Buffer.alloc(32, 7);
export const GOOD_KEY = 'wh_good-key-of-the-team-group';

/** What a test gets back from a call. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
  /** The body as the API's error. */
  error: { error: string; code: string; requestId: string };
}

export interface CallOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** A router on a real port, a feed in memory, and real HTTP servers on Unix sockets as its instances. */
export class Harness {
  readonly metrics = new FakeMetrics();
  readonly logger = new FakeLogger();
  readonly router: Router;
  readonly up: RouterUp[] = [];
  readonly #directory: string;
  readonly #channel: FeedChannel;
  #followed: Promise<void> = Promise.resolve();
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];
  #version = 0;

  private constructor(directory: string, options: Partial<RouterOptions>) {
    this.#directory = directory;
    this.router = buildRouter({ clock: systemClock, logger: this.logger, metrics: this.metrics, ...options });
    this.#channel = this.attach();
  }

  static async start(options: Partial<RouterOptions> = {}, port = 0): Promise<Harness> {
    const harness = new Harness(await mkdtemp(path.join(tmpdir(), 'wherry-router-')), options);
    harness.router.server.listen(port, '127.0.0.1');
    await once(harness.router.server, 'listening');
    return harness;
  }

  get port(): number {
    return (this.router.server.address() as AddressInfo).port;
  }

  /** Sends a feed message and waits until the router has confirmed it. */
  async apply(message: RouterDown): Promise<void> {
    this.send(message);
    await eventually(() => this.up.some((sent) => sent.type === 'applied' && sent.version === message.version));
  }

  send(message: object): void {
    this.#channel.send(message);
  }

  /** A first state with these functions and keys. */
  async serve(functions: RouterFunction[], keys: RouterKey[] = [routerKey(GOOD_KEY)]): Promise<void> {
    await this.apply(snapshot(++this.#version, functions, keys));
  }

  /** Gives the router a feed connection. @returns the operator's end of it. */
  attach(): FeedChannel {
    const [ours, theirs] = channelPair();
    this.#followed = this.router.follow(theirs);
    void this.#collect(ours);
    return ours;
  }

  /** Ends the feed, as when the operator dies. */
  async loseFeed(): Promise<void> {
    this.#channel.close();
    await this.#followed;
  }

  /** A real server on a Unix socket, ready to be an instance. */
  async instance(listener: RequestListener, id = randomBytes(4).toString('hex')): Promise<RouterInstance> {
    const socketPath = path.join(this.#directory, `${id}.sock`);
    const server = createServer({ keepAliveTimeout: 60_000, maxHeaderSize: 65_536 }, listener);
    server.maxHeadersCount = 0;
    this.#servers.push(server);
    server.listen(socketPath);
    await once(server, 'listening');
    return { id, revision: 'r1', address: { path: socketPath }, token: `token-${id}` };
  }

  /** Calls back with 1 and -1 for each connection to an instance that begins and ends. */
  onInstanceConnection(callback: (change: number) => void): void {
    for (const server of this.#servers) {
      server.on('connection', (socket) => {
        callback(1);
        socket.once('close', () => callback(-1));
      });
    }
  }

  socketPath(name: string): string {
    return path.join(this.#directory, name);
  }

  call(target: string, options: CallOptions = {}): Promise<Answer> {
    return httpCall(this.port, target, options);
  }

  /** A bare connection to the function port. */
  connect(): Socket {
    const socket = connect(this.port, '127.0.0.1');
    socket.on('error', () => undefined);
    this.#sockets.push(socket);
    return socket;
  }

  /** Sends bytes and gives all that comes back until the connection ends, or until `until` matches. */
  async raw(bytes: string | Buffer, until?: RegExp): Promise<string> {
    const socket = this.connect();
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return readUntil(socket, until);
  }

  logs(level?: string): LogEntry[] {
    const entries = this.up.flatMap((message) => (message.type === 'logs' ? message.entries : [])) as LogEntry[];
    return level === undefined ? entries : entries.filter((entry) => entry.level === level);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.router.drain({ lameDuckMs: 0, boundMs: 0 });
    this.#channel.close();
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #collect(channel: FeedChannel): Promise<void> {
    for await (const message of channel.messages()) {
      const sent = routerUpSchema.parse(message);
      this.up.push(sent);
      if (sent.type === 'metrics') channel.send({ type: 'stored', sequence: sent.sequence });
    }
  }
}

/** Collects what a socket receives until it ends, or until `until` matches. */
export async function readUntil(socket: Socket, until?: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString('latin1');
    if (until?.test(text) === true) break;
  }
  return text;
}

/**
 * Collects what a socket receives while it sends the text every 50 ms, until the other side ends or resets the
 * connection: who goes on sending may see either.
 */
export async function readWhileSending(socket: Socket, text: string): Promise<string> {
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1'))).on('error', () => undefined);
  const sending = setInterval(() => socket.write(text), 50);
  await new Promise((resolve) => socket.once('close', resolve)).finally(() => clearInterval(sending));
  return received;
}

export function httpCall(port: number, target: string, options: CallOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = options;
    const req = request({ host: '127.0.0.1', port, path: target, method, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          rawHeaders: res.rawHeaders,
          body: text,
          get error() {
            return JSON.parse(text) as Answer['error'];
          },
        });
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

/** Polls a condition, with a deadline in the milliseconds of a machine that has nothing else to do. */
export async function eventually(condition: () => boolean, deadlineMs = 5000): Promise<void> {
  const end = machineTime() + deadlineMs;
  while (!condition()) {
    if (machineTime() > end) throw new Error(`not so within ${deadlineMs} ms: ${condition.toString()}`);
    await systemClock.sleep(5);
  }
}

export function snapshot(version: number, functions: RouterFunction[], keys: RouterKey[] = []): RouterDown {
  return {
    type: 'snapshot',
    epoch: 'e1',
    version,
    resourceVersion: String(version),
    digestKey: DIGEST_SECRET.toString('base64url'),
    settings: { logLevel: 'info' },
    functions,
    keys,
  };
}

export function routerFunction(fields: Partial<RouterFunction> = {}): RouterFunction {
  return {
    id: 'hello',
    namespace: 'default',
    route: '/hello',
    methods: ['GET', 'POST'],
    keyGroups: null,
    cors: null,
    timeoutMs: 5000,
    maxRequestBytes: 10_485_760,
    maxConcurrency: null,
    revision: 'r1',
    instances: [],
    failure: null,
    ...fields,
  };
}

export function routerKey(value: string, fields: Partial<RouterKey> = {}): RouterKey {
  const digest = keyDigest(createDigestKey(DIGEST_SECRET), value);
  return { digest, id: 'key-1', name: 'first', groupId: 'team', groupName: 'team', expiresAt: null, ...fields };
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { DomainError, notFound } from '@wherry/core/errors.ts';
import type { Builder, BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { listenOnPath } from './listen-on-path.ts';
import { downSchema, MAX_DOWN_BYTES, type BuildDown, type Down, type EndUp, type Up } from './socket-protocol.ts';

export interface SocketServerOptions {
  /** Of the Unix socket, in a folder that the two containers share. */
  path: string;
  /** Makes the builder whose builds are served; `content` is that of whoever asked for the build. */
  makeBuilder: (content: ContentStore) => Builder & { stop(): Promise<void> };
  clock: Clock;
  logger: Logger;
}

export interface SocketServer {
  /** Lets running builds end for a while, then ends them, and closes. */
  stop(): Promise<void>;
}

/** A connection says what is to be built within this time. */
const ORDER_MS = 30_000;
const DRAIN_MS = 10_000;
/** Builds that run or wait for their turn. */
const MAX_CONNECTIONS = 1000;

/**
 * Serves builds on a Unix socket (0660).
 * @throws StartError when it cannot listen there.
 */
export async function startSocketServer(options: SocketServerOptions): Promise<SocketServer> {
  const { clock, logger } = options;
  // One builder for all connections, for they share its processes; which connection's blobs a build reads, its context says.
  const asker = new AsyncLocalStorage<BlobAsks>();
  const builder = options.makeBuilder(contentOf(asker));
  const running = new Set<Promise<void>>();
  const open = new Set<FeedChannel>();

  async function serve(socket: Socket): Promise<void> {
    const channel = jsonLines(socket, { maxLineBytes: MAX_DOWN_BYTES });
    open.add(channel);
    const cancel = clock.after(ORDER_MS, () => channel.close());
    const say = (message: Up): void => channel.send(message);
    const asks = new BlobAsks(say);
    const gone = new AbortController();
    let building: Promise<void> | undefined;
    for await (const value of channel.messages()) {
      const message = downSchema.safeParse(value);
      if (!message.success) break;
      if (message.data.type !== 'build') asks.answer(message.data);
      else if (building !== undefined) break;
      else {
        cancel();
        building = asker
          .run(asks, () => build(message.data as BuildDown, gone.signal, say))
          .finally(() => socket.end());
      }
    }
    cancel();
    gone.abort(new Error('whoever asked for the build is gone'));
    asks.end();
    channel.close();
    await building;
    open.delete(channel);
  }

  async function build(order: BuildDown, signal: AbortSignal, say: (message: EndUp) => void): Promise<void> {
    try {
      say(endOf(await builder.build(requestOf(order), signal)));
    } catch (err) {
      if (signal.aborted) return;
      logger.warn({ err, source: order.source, path: order.path }, 'a build could not be tried');
      say({
        type: 'untried',
        message: err instanceof DomainError ? err.message : 'The builder could not try the build: its log says why.',
      });
    }
  }

  const server = createServer((socket) => {
    const served = serve(socket)
      .catch((err: unknown) => logger.error({ err }, 'a connection of the builder failed'))
      .finally(() => running.delete(served));
    running.add(served);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listenOnPath(server, options.path, 'WHERRY_BUILDER_SOCKET');

  return {
    async stop() {
      const closed = once(server, 'close');
      server.close();
      const cancel = clock.after(DRAIN_MS, () => open.forEach((channel) => channel.close()));
      await Promise.allSettled(running);
      cancel();
      await builder.stop();
      await closed;
    },
  };
}

/** The blobs that a build has asked its connection for. */
class BlobAsks {
  readonly #say: (message: Up) => void;
  readonly #open = new Map<string, PromiseWithResolvers<Buffer>>();
  #ended = false;

  constructor(say: (message: Up) => void) {
    this.#say = say;
  }

  async ask(digest: string): Promise<Buffer> {
    if (this.#ended) throw new DomainError('unavailable', 'Whoever asked for the build is gone.');
    let asked = this.#open.get(digest);
    if (asked === undefined) {
      asked = Promise.withResolvers<Buffer>();
      this.#open.set(digest, asked);
      this.#say({ type: 'blob', digest });
    }
    return asked.promise;
  }

  /** Takes an answer. What was not asked for is passed over. */
  answer(message: Exclude<Down, BuildDown>): void {
    const asked = this.#open.get(message.digest);
    this.#open.delete(message.digest);
    if (asked === undefined) return;
    if (message.type === 'blob') {
      const bytes = Buffer.from(message.base64, 'base64');
      if (sha256(bytes) === message.digest) asked.resolve(bytes);
      else asked.reject(new DomainError('unavailable', `Blob ${message.digest} came as other bytes.`));
    } else if (message.code === 'not_found') asked.reject(notFound(`There is no blob ${message.digest}.`));
    else asked.reject(new DomainError('unavailable', `Blob ${message.digest} cannot be had now.`));
  }

  end(): void {
    this.#ended = true;
    for (const { reject } of this.#open.values())
      reject(new DomainError('unavailable', 'Whoever asked for the build is gone.'));
    this.#open.clear();
  }
}

/** All that a build may do with content is to read blobs of its request. */
function contentOf(asker: AsyncLocalStorage<BlobAsks>): ContentStore {
  const refuse = async (): Promise<never> => {
    throw new DomainError('forbidden', 'A build only reads blobs.');
  };
  return {
    async get(digest) {
      const asks = asker.getStore();
      if (asks === undefined) throw new DomainError('internal_error', 'A blob was asked for by no build.');
      return asks.ask(digest);
    },
    put: refuse,
    open: refuse,
    has: refuse,
    collect: refuse,
  };
}

function requestOf({ source, path, trees, locks }: BuildDown): BuildRequest {
  return { source, path, trees: new Map(trees), ...(locks.length > 0 && { locks: new Map(locks) }) };
}

function endOf(result: BuildResult): EndUp {
  const { inputs } = result;
  const locks = result.locks === undefined ? {} : { locks: [...result.locks] };
  if (result.ok) return { type: 'built', artifact: Buffer.from(result.artifact).toString('utf8'), inputs, ...locks };
  const { reason, message, location, retry } = result;
  return {
    type: 'failed',
    reason,
    message,
    ...(location && { location }),
    ...(retry !== undefined && { retry }),
    inputs,
    ...locks,
  };
}

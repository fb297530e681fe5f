import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { DomainError } from '@wherry/core/errors.ts';
import type { Builder, BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import { blobsOf } from '../blob-exchange/blob-protocol.ts';
import { BlobRequests, MAX_LINE_BYTES } from '../blob-exchange/blob-requests.ts';
import {
  operatorMessageSchema,
  type BuilderMessage,
  type BuildMessage,
  type FinalMessage,
} from './builder-protocol.ts';

interface BuilderServerOptions {
  /** Of the Unix socket, in a folder that the two containers share. */
  path: string;
  /** Makes the builder whose builds are served; `content` is the client's. */
  makeBuilder: (content: ContentStore) => Builder & { stop(): Promise<void> };
  clock: Clock;
  logger: Logger;
}

export interface BuilderServer {
  /** Lets running builds end for a while, then ends them, and closes. */
  stop(): Promise<void>;
}

/** A connection must send its order within this time. */
const ORDER_MS = 30_000;
const DRAIN_MS = 10_000;
/** Builds that run or wait for their turn. */
const MAX_CONNECTIONS = 1000;

/**
 * Serves builds on a Unix socket (0660).
 * @throws StartError when it cannot listen there.
 */
export async function startBuilderServer(options: BuilderServerOptions): Promise<BuilderServer> {
  const { clock, logger } = options;
  // One builder for all connections, because they share its processes; its async context determines whose blobs a build
  // reads.
  const requestsOfBuild = new AsyncLocalStorage<BlobRequests>();
  const builder = options.makeBuilder(contentOf(requestsOfBuild));
  const running = new Set<Promise<void>>();
  const open = new Set<FeedChannel>();

  async function serve(socket: Socket): Promise<void> {
    const channel = jsonLines(socket, { maxLineBytes: MAX_LINE_BYTES });
    open.add(channel);
    const cancel = clock.after(ORDER_MS, () => channel.close());
    const requests = new BlobRequests((request) => channel.send(request satisfies BuilderMessage));
    const gone = new AbortController();
    const context = { builder, channel, logger };
    let building: Promise<void> | undefined;
    for await (const value of channel.messages()) {
      const message = operatorMessageSchema.safeParse(value);
      if (!message.success) break;
      if (message.data.type !== 'build') requests.answer(message.data);
      else if (building !== undefined) break;
      else {
        cancel();
        const request = requestOf(message.data);
        requests.allow(blobsOf(request).keys());
        building = requestsOfBuild
          .run(requests, () => build(request, gone.signal, context))
          .finally(() => socket.end());
      }
    }
    cancel();
    gone.abort(new Error('the client of the build has disconnected'));
    requests.end();
    channel.close();
    await building;
    open.delete(channel);
  }

  const server = createServer((socket) => {
    const served = serve(socket)
      .catch((err: unknown) => logger.error({ err }, 'a connection of the builder failed'))
      .finally(() => running.delete(served));
    running.add(served);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listenOrFail(server, { path: options.path, mode: 0o660 }, 'WHERRY_BUILDER_SOCKET');

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

async function build(
  request: BuildRequest,
  signal: AbortSignal,
  { builder, channel, logger }: { builder: Builder; channel: FeedChannel; logger: Logger },
): Promise<void> {
  try {
    channel.send(endOf(await builder.build(request, signal)));
  } catch (err) {
    if (signal.aborted) return;
    logger.warn({ err, source: request.source, path: request.path }, 'a build could not run');
    channel.send(untried(err));
  }
}

const untried = (error: unknown): FinalMessage => ({
  type: 'untried',
  message: error instanceof DomainError ? error.message : 'The builder could not run the build: its log says why.',
});

/** A build may only read blobs of its request. */
function contentOf(requestsOfBuild: AsyncLocalStorage<BlobRequests>): ContentStore {
  const refuse = async (): Promise<never> => {
    throw new DomainError('forbidden', 'A build may only read blobs.');
  };
  return {
    async get(digest) {
      const requests = requestsOfBuild.getStore();
      if (requests === undefined) throw new DomainError('internal_error', 'A blob was requested outside a build.');
      return requests.request(digest);
    },
    put: refuse,
    open: refuse,
    has: refuse,
    collect: refuse,
  };
}

function requestOf({ source, path, trees, locks }: BuildMessage): BuildRequest {
  return { source, path, trees: new Map(trees), ...(locks.length > 0 && { locks: new Map(locks) }) };
}

function endOf(result: BuildResult): FinalMessage {
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

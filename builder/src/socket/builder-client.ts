import type { Socket } from 'node:net';
import { DomainError, isDomainError } from '@wherry/core/errors.ts';
import type { Builder, BuildRequest, BuildResult, UsedLock } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { blobsOf } from '../blob-exchange/blob-protocol.ts';
import { BlobResponder } from '../blob-exchange/blob-responder.ts';
import { connectWithRetry } from '../connect-with-retry.ts';
import {
  MAX_ARTIFACT_BYTES,
  MAX_REPORT_BYTES,
  builderMessageSchema,
  type OperatorMessage,
  type FinalMessage,
} from './builder-protocol.ts';

interface BuilderClientOptions {
  /** Of the builder's Unix socket. */
  path: string;
  /** Where the requests' blobs are. The builder gets only those that its request names. */
  content: ContentStore;
  clock: Clock;
  logger: Logger;
}

/** More than the builder's own limits allow, including waiting in its queue: a builder that hangs is given up. */
const LONGEST_MS = 15 * 60_000;

/**
 * Delegates builds to the builder in the neighbouring container, over its Unix socket, with one connection per build.
 * The builder is not trusted: what it sends is checked, and the artifact's digest is computed here (B4). A build
 * rejects with `unavailable` when the builder cannot be reached or disconnects meanwhile: then it did not run.
 */
export function createBuilderClient(options: BuilderClientOptions): Builder & { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();

  async function build(request: BuildRequest, signal: AbortSignal): Promise<BuildResult> {
    const socket = await connected(options, signal);
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end);
    try {
      return await new RemoteBuild(socket, request, options).run();
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
      socket.destroy();
    }
  }

  return {
    async build(request, signal) {
      signal.throwIfAborted();
      const built = build(request, AbortSignal.any([signal, stopping.signal]));
      running.add(built);
      return built.finally(() => running.delete(built));
    },
    async stop() {
      stopping.abort(new Error('the builder is stopping'));
      await Promise.allSettled(running);
    },
  };
}

/** @throws DomainError `unavailable` when nothing listens, or the signal's reason. */
async function connected(options: BuilderClientOptions, signal: AbortSignal): Promise<Socket> {
  try {
    return await connectWithRetry(options, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw gone(`cannot be reached (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}

/** One build over one connection. */
class RemoteBuild {
  readonly #socket: Socket;
  readonly #channel: FeedChannel;
  readonly #request: BuildRequest;
  readonly #options: BuilderClientOptions;
  readonly #blobs: BlobResponder;
  readonly #ended = new AbortController();

  constructor(socket: Socket, request: BuildRequest, options: BuilderClientOptions) {
    this.#socket = socket;
    this.#channel = jsonLines(socket, { maxLineBytes: MAX_REPORT_BYTES, maxBufferedBytes: Infinity });
    this.#request = request;
    this.#options = options;
    this.#blobs = new BlobResponder(this.#channel, this.#ended.signal);
    for (const [digest, { optional }] of blobsOf(request))
      this.#blobs.allow(digest, () => (optional ? findBlob(options.content, digest) : options.content.get(digest)));
  }

  async run(): Promise<BuildResult> {
    const { source, path, trees, locks } = this.#request;
    const cancel = this.#options.clock.after(LONGEST_MS, () => this.#socket.destroy());
    // An error with a blob is raised concurrently with reading messages.
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    try {
      this.#say({
        type: 'build',
        source,
        path,
        trees: [...trees],
        locks: [...(locks ?? [])].map(([name, known]) => [name, [...known]]),
      });
      return await Promise.race([this.#listen(failed.reject), failed.promise]);
    } finally {
      cancel();
      this.#ended.abort();
    }
  }

  async #listen(fail: (error: unknown) => void): Promise<BuildResult> {
    for await (const value of this.#channel.messages()) {
      const message = builderMessageSchema.safeParse(value);
      if (!message.success) throw this.#nonsense('sent an invalid message');
      if (message.data.type !== 'blob') return this.#resultOf(message.data);
      if (!this.#blobs.mayRequest(message.data.hash))
        throw this.#nonsense('requested a blob that is not part of its build');
      this.#blobs.answer(message.data.hash).catch(fail);
    }
    throw gone('disconnected in the middle of the build');
  }

  #resultOf(end: FinalMessage): BuildResult {
    if (end.type === 'untried') throw new DomainError('unavailable', end.message);
    this.#check(end);
    const { inputs } = end;
    const locks = end.locks === undefined ? {} : { locks: new Map<string, UsedLock>(end.locks) };
    if (end.type === 'failed') {
      const { reason, message, location, retry } = end;
      return {
        ok: false,
        reason,
        message,
        ...(location && { location }),
        ...(retry !== undefined && { retry }),
        inputs,
        ...locks,
      };
    }
    const artifact = Buffer.from(end.artifact);
    if (artifact.byteLength > MAX_ARTIFACT_BYTES) throw this.#nonsense('sent an artifact over the size limit');
    return { ok: true, artifact, revision: sha256(artifact), inputs, ...locks };
  }

  /** The inputs of a build decide when it runs again, so they are accepted only if they are its own files. */
  #check({ inputs, locks = [] }: Extract<FinalMessage, { type: 'built' | 'failed' }>): void {
    const { trees } = this.#request;
    const sources = new Set(inputs.map(({ source }) => source));
    const files = new Set<string>();
    for (const source of sources)
      for (const { path, digest } of trees.get(source)?.files ?? []) files.add(JSON.stringify([source, path, digest]));
    const isStrange = inputs.some(({ source, path, digest }) => !files.has(JSON.stringify([source, path, digest])));
    if (isStrange) throw this.#nonsense('named a file that its build does not have');
    if (locks.some(([source]) => !trees.has(source)))
      throw this.#nonsense('named a source that its build does not have');
  }

  #say(message: OperatorMessage): void {
    this.#channel.send(message);
  }

  /** The builder may have been compromised: a person should know, and the result of the build is discarded. */
  #nonsense(what: string): DomainError {
    const { source, path } = this.#request;
    this.#options.logger.error({ source, path, what }, 'the builder violated the protocol; closing its connection');
    return gone(what);
  }
}

async function findBlob(content: ContentStore, digest: string): Promise<Buffer | undefined> {
  try {
    return await content.get(digest);
  } catch (error) {
    if (isDomainError(error, 'not_found')) return undefined;
    throw error;
  }
}

function gone(why: string): DomainError {
  return new DomainError('unavailable', `The build could not run: the builder ${why}.`);
}

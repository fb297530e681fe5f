import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { DomainError, isDomainError, notFound } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { digestSchema, type Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import {
  createInternalClient,
  unreachable,
  type ClientTls,
  type InternalAnswer,
  type InternalClient,
} from './internal-client.ts';

interface HttpContentStoreOptions {
  /** Base of the manager's internal listener. */
  url: string;
  tls: ClientTls;
  logger: Logger;
}

/** The header in which a put names the digest of its body, where that is known before it is sent. */
export const DIGEST_HEADER = 'x-content-sha256';

/** A collection reads every blob. */
const COLLECT_MS = 10 * 60_000;

/**
 * The manager's content store, over its internal listener. Neither side trusts the other: both verify what is put and
 * what is read against its digest. Every failure is a DomainError; `unavailable` for a manager that does not answer.
 */
export function createHttpContentStore(options: HttpContentStoreOptions): ContentStore & { stop(): Promise<void> } {
  return new HttpContentStore(createInternalClient(options), options.logger);
}

class HttpContentStore implements ContentStore {
  readonly #client: InternalClient;
  readonly #logger: Logger;

  constructor(client: InternalClient, logger: Logger) {
    this.#client = client;
    this.#logger = logger;
  }

  async put(
    content: AsyncIterable<Uint8Array> | Uint8Array,
    limit = Infinity,
  ): Promise<{ digest: Digest; size: number }> {
    if (content instanceof Uint8Array) {
      if (content.byteLength > limit) throw tooLarge(limit);
      const digest = sha256(content);
      const body = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
      return this.#put(body, { [DIGEST_HEADER]: digest }, () => ({ digest, size: body.length }));
    }
    const sent = new CountedStream(content, limit);
    try {
      return await this.#put(Readable.from(sent, { objectMode: false }), {}, () => sent.result());
    } catch (error) {
      // The connection's error is only a consequence of the stream's own.
      throw sent.failure === undefined ? error : sent.failure.error;
    }
  }

  async get(digest: Digest): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.open(digest)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async open(digest: Digest): Promise<AsyncIterable<Uint8Array>> {
    if (!digestSchema.safeParse(digest).success) throw missing(digest);
    const { body } = await this.#client.send({ method: 'GET', path: `/content/${digest}` });
    return verified(body, digest, this.#logger);
  }

  async has(digest: Digest): Promise<boolean> {
    if (!digestSchema.safeParse(digest).success) return false;
    try {
      const { body } = await this.#client.send({ method: 'HEAD', path: `/content/${digest}` });
      await body.dump();
      return true;
    } catch (error) {
      if (isDomainError(error, 'not_found')) return false;
      throw error;
    }
  }

  async collect(referenced: ReadonlySet<Digest>, graceMs: number): Promise<number> {
    const answer = await this.#client.send({
      method: 'POST',
      path: '/content/collect',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ referenced: [...referenced], graceMs }),
      timeoutMs: COLLECT_MS,
    });
    const removed = (await readAnswer(answer))['removed'];
    if (Number.isSafeInteger(removed)) return removed as number;
    throw new DomainError('unavailable', "The manager's answer does not match the request: its version may differ.");
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }

  async #put(
    body: Buffer | Readable,
    headers: Record<string, string>,
    sent: () => { digest: Digest; size: number },
  ): Promise<{ digest: Digest; size: number }> {
    const answer = await this.#client.send({
      method: 'PUT',
      path: '/content',
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body,
    });
    const kept = await readAnswer(answer);
    const { digest, size } = sent();
    if (kept['digest'] === digest && kept['size'] === size) return { digest, size };
    throw new DomainError(
      'internal_error',
      `The manager did not store the bytes that were sent: their digest is ${String(kept['digest'])} instead of ${digest}.`,
    );
  }
}

/** A stream in transit, counted and hashed. */
class CountedStream implements AsyncIterable<Uint8Array> {
  /** The error that ended it early. */
  failure: { error: unknown } | undefined;
  readonly #content: AsyncIterable<Uint8Array>;
  readonly #limit: number;
  readonly #hash: Hash = createHash('sha256');
  #size = 0;

  constructor(content: AsyncIterable<Uint8Array>, limit: number) {
    this.#content = content;
    this.#limit = limit;
  }

  result(): { digest: Digest; size: number } {
    return { digest: this.#hash.digest('hex'), size: this.#size };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of this.#content) {
        this.#size += chunk.byteLength;
        if (this.#size > this.#limit) throw tooLarge(this.#limit);
        this.#hash.update(chunk);
        // The producer may use its buffer again while the connection still holds this one.
        if (chunk.byteLength > 0) yield Buffer.from(chunk);
      }
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}

/** Fails at the end, where the bytes do not match the digest (B4). */
async function* verified(
  body: AsyncIterable<Buffer>,
  digest: Digest,
  logger: Logger,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of body) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (error) {
    throw unreachable(error);
  }
  if (hash.digest('hex') === digest) return;
  logger.error(
    { digest },
    'the manager sent bytes that do not match their digest: its log says whether the stored blob is damaged',
  );
  throw new DomainError('internal_error', `Blob ${digest} is damaged.`);
}

async function readAnswer({ body }: InternalAnswer): Promise<Record<string, unknown>> {
  try {
    return ((await body.json()) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw unreachable(error);
  }
}

function tooLarge(limit: number): DomainError {
  return new DomainError('too_large', `The content is larger than ${limit} bytes.`);
}

function missing(digest: Digest): DomainError {
  return notFound(`There is no blob ${digest}.`);
}

import { DomainError } from '@wherry/core/errors.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { createSemaphore, type Semaphore } from '@wherry/service/semaphore.ts';
import type { BlobAnswer } from './blob-protocol.ts';

const MIB = 1024 * 1024;
/** More would not fit into a line (`MAX_LINE_BYTES`). */
const MAX_BLOB_BYTES = 256 * MIB;
/** How many requests may be open; our own client has fewer. */
const MAX_OPEN = 64;
/** Blobs that are in memory at once. */
const BLOBS_AT_ONCE = 8;
/**
 * How many bytes may be unread when the next blob is sent: a peer that does not read gets at most one blob beyond them.
 */
const HIGH_WATER = 16 * MIB;

/** @returns undefined where there is no such blob, and a build can do without. */
type ReadBlob = () => Promise<Buffer | undefined>;

/** Gives the other end of a channel the blobs of its one build and no others, because untrusted code runs there. */
export class BlobResponder {
  readonly #channel: FeedChannel;
  readonly #ended: AbortSignal;
  readonly #allowed = new Map<string, ReadBlob>();
  readonly #reads: Semaphore = createSemaphore(BLOBS_AT_ONCE);
  readonly #sends: Semaphore = createSemaphore(1);
  #open = 0;

  /** @param ended aborts when the build has ended: then nothing is read or sent any more. */
  constructor(channel: FeedChannel, ended: AbortSignal) {
    this.#channel = channel;
    this.#ended = ended;
  }

  allow(hash: string, read: ReadBlob): void {
    this.#allowed.set(hash, read);
  }

  /**
   * Whether the build has this blob and the other end does not have too many requests open. If false, end the
   * connection.
   */
  mayRequest(hash: string): boolean {
    return this.#open < MAX_OPEN && this.#allowed.has(hash);
  }

  /** @throws what reading the blob throws, DomainError `too_large`; nothing once the build has ended. */
  async answer(hash: string): Promise<void> {
    this.#open += 1;
    try {
      const release = await this.#reads.acquire(this.#ended);
      try {
        await this.#send(hash, await this.#read(hash));
      } finally {
        release();
      }
    } catch (error) {
      if (!this.#ended.aborted) throw error;
    } finally {
      this.#open -= 1;
    }
  }

  async #read(hash: string): Promise<Buffer | undefined> {
    const bytes = await this.#allowed.get(hash)?.();
    if (bytes !== undefined && bytes.length > MAX_BLOB_BYTES)
      throw new DomainError('too_large', `Blob ${hash} is too large for a build.`);
    return bytes;
  }

  async #send(hash: string, bytes: Buffer | undefined): Promise<void> {
    const release = await this.#sends.acquire(this.#ended);
    try {
      const answer: BlobAnswer =
        bytes === undefined ? { type: 'noBlob', hash } : { type: 'blob', hash, base64: bytes.toString('base64') };
      this.#channel.send(answer);
      if ((this.#channel.queuedBytes?.() ?? 0) > HIGH_WATER) await this.#channel.drained?.();
    } finally {
      release();
    }
  }
}

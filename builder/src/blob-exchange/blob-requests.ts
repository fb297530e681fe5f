import { hash as hashOf } from 'node:crypto';
import { DomainError, notFound } from '@wherry/core/errors.ts';
import { matchesIntegrity } from './integrity.ts';
import type { BlobAnswer, BlobRequest } from './blob-protocol.ts';

/** The longest line to the requesting side: a blob in base64, or the manifests of many sources. */
export const MAX_LINE_BYTES = 512 * 1024 * 1024;
/** Each is held in memory on both sides. */
const REQUESTS_AT_ONCE = 4;
const DIGEST = /^[0-9a-f]{64}$/;

/** The requests for blobs of one build, a few at a time. */
export class BlobRequests {
  readonly #send: (request: BlobRequest) => void;
  readonly #allowed = new Set<string>();
  readonly #open = new Map<string, PromiseWithResolvers<Buffer>>();
  /** Open requests, both sent and still to be sent. */
  readonly #sent = new Set<string>();
  #queue: string[] = [];
  #hasEnded = false;

  constructor(send: (request: BlobRequest) => void) {
    this.#send = send;
  }

  /** What the order names, and the layouts that were sent for it. */
  allow(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#allowed.add(hash);
  }

  /**
   * Concurrent requests for the same blob share one answer.
   * @throws DomainError `forbidden` for a blob that the build does not have, `not_found` when there is none,
   *   `unavailable` for bytes that do not match the hash, and when the connection has closed.
   */
  async request(hash: string): Promise<Buffer> {
    // If it were sent, it would end the build: work for an earlier order may still be running when the next one
    // arrives.
    if (!this.#allowed.has(hash)) throw new DomainError('forbidden', `Blob ${hash} is not part of this build.`);
    if (this.#hasEnded) throw gone();
    const open = this.#open.get(hash);
    if (open !== undefined) return open.promise;
    const request = Promise.withResolvers<Buffer>();
    this.#open.set(hash, request);
    this.#queue.push(hash);
    this.#sendNext();
    return request.promise;
  }

  /** Takes an answer. What was not requested is ignored. */
  answer(answer: BlobAnswer): void {
    const { hash } = answer;
    const request = this.#open.get(hash);
    if (request === undefined || !this.#sent.delete(hash)) return;
    this.#open.delete(hash);
    this.#sendNext();
    if (answer.type === 'noBlob') return request.reject(notFound(`There is no blob ${hash}.`));
    const bytes = Buffer.from(answer.base64, 'base64');
    if (isBlob(bytes, hash)) request.resolve(bytes);
    else request.reject(new DomainError('unavailable', `Blob ${hash} does not match its hash.`));
  }

  /** The connection has closed. */
  end(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#open.values()) reject(gone());
    this.#open.clear();
    this.#queue = [];
  }

  #sendNext(): void {
    while (this.#sent.size < REQUESTS_AT_ONCE) {
      const hash = this.#queue.shift();
      if (hash === undefined) return;
      this.#sent.add(hash);
      this.#send({ type: 'blob', hash });
    }
  }
}

const isBlob = (bytes: Buffer, hash: string): boolean =>
  DIGEST.test(hash) ? hashOf('sha256', bytes) === hash : matchesIntegrity(bytes, hash);

const gone = (): DomainError =>
  new DomainError('unavailable', "The connection that serves the build's blobs has closed.");

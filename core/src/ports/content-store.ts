import type { Digest } from '../resources/meta.ts';

/** Immutable blobs by SHA-256. Heads are in resources, never here. */
export interface ContentStore {
  /**
   * Stores what the stream yields; nothing of it is kept when it fails.
   * @param limit bytes; more reject with DomainError `too_large`, before they are stored anywhere.
   * @throws DomainError `unavailable` when there is no room.
   */
  put(content: AsyncIterable<Uint8Array> | Uint8Array, limit?: number): Promise<{ digest: Digest; size: number }>;
  /** @throws DomainError `not_found`; `internal_error` when the bytes no longer match the digest. */
  get(digest: Digest): Promise<Buffer>;
  /** The bytes as they are read, for large blobs; the same errors, `not_found` before the first byte. */
  open(digest: Digest): Promise<AsyncIterable<Uint8Array>>;
  has(digest: Digest): Promise<boolean>;
  /**
   * Removes blobs that are not in `referenced` and were last put longer than `graceMs` ago; putting one again renews
   * it.
   * @returns how many were removed.
   */
  collect(referenced: ReadonlySet<Digest>, graceMs: number): Promise<number>;
}

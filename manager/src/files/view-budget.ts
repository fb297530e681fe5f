import { BytePool } from '../http/byte-pool.ts';

/** The file's bytes, its text, the JSON text and that one's bytes are in memory at once. */
const COPIES = 4;
/**
 * Files up to this many bytes have a pool of their own: large answers that are not read do not block small files.
 */
const SMALL_FILE_BYTES = 256 * 1024;
const LARGE_BYTES = 128 * 1024 * 1024;
const SMALL_BYTES = 32 * 1024 * 1024;
const REFUSAL =
  'Too many other files are being sent as JSON: try again in a moment, or get the bytes without Accept: application/json.';

/** The memory for all files that are being sent as JSON, until their answers are read (M10). */
export class ViewBudget {
  readonly #large = new BytePool(LARGE_BYTES, REFUSAL);
  readonly #small = new BytePool(SMALL_BYTES, REFUSAL);

  /**
   * @param size bytes of the file.
   * @returns a function that releases it, which may be called again.
   * @throws DomainError `unavailable` while it is in use by others.
   */
  take(size: number): () => void {
    return (size > SMALL_FILE_BYTES ? this.#large : this.#small).take(size * COPIES);
  }
}

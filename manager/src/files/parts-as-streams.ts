import { Transform, type TransformCallback } from 'node:stream';

const HEADER = Buffer.from('Content-Type: application/octet-stream\r\n');
const LINE_END = Buffer.from('\r\n');

/**
 * Gives each part of a multipart form a first header that declares bytes. busboy, which trusts a part's first
 * Content-Type, then streams every part; otherwise it would hold a part without a filename in memory as a whole (M10).
 */
export class PartsAsStreams extends Transform {
  /** What ends a part and begins the next, where a line end follows. */
  readonly #delimiter: Buffer;
  /**
   * The end of the last chunk, in which a delimiter may have begun. The form's first delimiter has no line end before
   * it: it is searched as if it had.
   */
  #unread = LINE_END;
  /** Bytes of that line end that are still to be left out. */
  #added = LINE_END.length;

  constructor(boundary: string) {
    super();
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = Buffer.concat([this.#unread, chunk]);
    let from = 0;
    const mark = this.#delimiter.length + LINE_END.length;
    for (
      let at = bytes.indexOf(this.#delimiter);
      at !== -1 && at + mark <= bytes.length;
      at = bytes.indexOf(this.#delimiter, at + this.#delimiter.length)
    ) {
      if (!bytes.subarray(at + this.#delimiter.length, at + mark).equals(LINE_END)) continue;
      this.#pass(bytes.subarray(from, at + mark));
      this.push(HEADER);
      from = at + mark;
    }
    const safe = Math.max(from, bytes.length - mark + 1);
    this.#pass(bytes.subarray(from, safe));
    this.#unread = bytes.subarray(safe);
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#pass(this.#unread);
    done();
  }

  #pass(bytes: Buffer): void {
    const left = Math.min(this.#added, bytes.length);
    this.#added -= left;
    if (bytes.length > left) this.push(bytes.subarray(left));
  }
}

/** Pieces under this size are put together: by itself each takes hundreds of bytes of memory. */
const GATHERED_BYTES = 16_384;

/** Bytes in the order in which they came, in few pieces, however small those were that they came in (R12, M10). */
export class ByteQueue {
  /** Large, or full. */
  readonly #pieces: Buffer[] = [];
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    // Most bodies come in large pieces, or are wanted at once: those are not copied.
    if (piece.length >= GATHERED_BYTES || this.#bytes === piece.length) {
      this.#seal();
      this.#pieces.push(piece);
    } else this.#gather(piece);
  }

  take(): Buffer | undefined {
    if (this.#pieces.length === 0) this.#seal();
    const piece = this.#pieces.shift();
    this.#bytes -= piece?.length ?? 0;
    return piece;
  }

  /** @returns everything in one piece, which is empty where nothing is queued. */
  takeAll(): Buffer {
    this.#seal();
    this.#bytes = 0;
    const pieces = this.#pieces.splice(0);
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  }

  #gather(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0) {
      this.#gathered ??= Buffer.allocUnsafe(GATHERED_BYTES);
      const copied = rest.copy(this.#gathered, this.#gatheredBytes);
      this.#gatheredBytes += copied;
      rest = rest.subarray(copied);
      if (this.#gatheredBytes === GATHERED_BYTES) this.#seal();
    }
  }

  /** What is gathered becomes a piece. One that is not full is copied: a few bytes must not keep the whole buffer. */
  #seal(): void {
    if (this.#gathered === undefined || this.#gatheredBytes === 0) return;
    if (this.#gatheredBytes === GATHERED_BYTES) {
      this.#pieces.push(this.#gathered);
      this.#gathered = undefined;
    } else this.#pieces.push(Buffer.from(this.#gathered.subarray(0, this.#gatheredBytes)));
    this.#gatheredBytes = 0;
  }
}

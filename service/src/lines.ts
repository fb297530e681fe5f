const NEWLINE = 0x0a;

/**
 * The lines of a stream, without their line ends; what follows the last line end is not a line.
 * @param limit bytes that are held of a line that has no end yet. @throws RangeError beyond them
 */
export async function* lines(stream: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Buffer, void> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end);
      yield parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > limit) throw new RangeError(`a line is longer than ${limit} bytes`);
  }
}

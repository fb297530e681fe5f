import { unavailable } from './status-error.ts';

/** More than any object that etcd takes. */
const LINE_LIMIT = 8 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The JSON objects of a stream, one a line. @throws DomainError `unavailable` for what is none, or has no end */
export async function* readLines(body: AsyncIterable<Buffer>): AsyncGenerator<object, void> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      length = 0;
      start = end + 1;
      if (line.length > 0) yield parseLine(line);
    }
    pieces.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LINE_LIMIT) throw unavailable(`The API server sent a line of more than ${LINE_LIMIT} bytes`);
  }
}

function parseLine(line: Buffer): object {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Told below, without the line.
  }
  throw unavailable('The API server sent a line that is not a JSON object');
}

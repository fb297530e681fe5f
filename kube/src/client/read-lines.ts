import { lines } from '@wherry/service/lines.ts';
import { unavailable } from './status-error.ts';

/** More than any object that etcd accepts. */
const LINE_LIMIT = 8 * 1024 * 1024;

/**
 * The JSON objects of a stream, one a line.
 * @throws DomainError `unavailable` for a line that is not an object, or has no end
 */
export async function* readLines(body: AsyncIterable<Buffer>): AsyncGenerator<object, void> {
  try {
    for await (const line of lines(body, LINE_LIMIT)) if (line.length > 0) yield parseLine(line);
  } catch (error) {
    if (error instanceof RangeError) throw unavailable(`The API server sent an invalid event: ${error.message}`);
    throw error;
  }
}

function parseLine(line: Buffer): object {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Reported below, without the line.
  }
  throw unavailable('The API server sent a line that is not a JSON object');
}

import type { Duplex } from 'node:stream';

const NEWLINE = 0x0a;

/**
 * The first line of a stream that nothing reads yet. What follows it stays in the stream for its next reader.
 * @returns undefined where the stream ends first, or the line is longer than that many bytes.
 */
export function firstLine(stream: Duplex, maxBytes: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let held = Buffer.alloc(0);
    const done = (line: string | undefined): void => {
      stream.off('readable', onReadable);
      stream.off('close', onEnd);
      stream.off('end', onEnd);
      resolve(line);
    };
    const onEnd = (): void => done(undefined);
    const onReadable = (): void => {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held = Buffer.concat([held, chunk]);
        const end = held.indexOf(NEWLINE);
        if (end > maxBytes || (end === -1 && held.length > maxBytes)) return done(undefined);
        if (end === -1) continue;
        done(held.toString('utf8', 0, end));
        if (end + 1 < held.length) stream.unshift(held.subarray(end + 1));
        return;
      }
    };
    stream.on('readable', onReadable);
    stream.once('close', onEnd);
    stream.once('end', onEnd);
  });
}

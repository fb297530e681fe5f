import { Readable } from 'node:stream';
import { lines } from './lines.ts';

const streamOf = (...texts: string[]): AsyncIterable<Buffer> => Readable.from(texts.map((text) => Buffer.from(text)));

async function read(stream: AsyncIterable<Buffer>, limit = 1000): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines(stream, limit)) all.push(line.toString());
  return all;
}

describe('lines', () => {
  it('joins lines however the bytes are cut, and leaves out what has no end', async () => {
    expect(await read(streamOf('a\nb', 'c', 'd\n\n', 'e\nno end'))).toEqual(['a', 'bcd', '', 'e']);
    expect(await read(streamOf())).toEqual([]);
  });

  it('gives up a line that has no end, after those before it', async () => {
    const seen: string[] = [];
    const endless = async (): Promise<void> => {
      for await (const line of lines(streamOf('first\n', ...Array<string>(11).fill('x'.repeat(100))), 1000))
        seen.push(line.toString());
    };
    await expect(endless()).rejects.toThrow(new RangeError('a line is longer than 1000 bytes'));
    expect(seen).toEqual(['first']);
  });
});

import { Readable } from 'node:stream';
import { readLines } from './read-lines.ts';

async function read(...chunks: Buffer[]): Promise<object[]> {
  const all: object[] = [];
  for await (const line of readLines(Readable.from(chunks))) all.push(line);
  return all;
}

describe('readLines', () => {
  it('reads an object a line', async () => {
    expect(await read(Buffer.from('{"a":1}\n\n{"b"'), Buffer.from(':2}\n'))).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it.each(['{"a":\n', '7\n', 'null\n'])(
    'reports of the line %j that it is no object, without the line',
    async (line) => {
      await expect(read(Buffer.from(line))).rejects.toMatchObject({
        code: 'unavailable',
        message: 'The API server sent a line that is not a JSON object',
      });
    },
  );

  it('gives up a line without an end', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    await expect(read(...Array<Buffer>(9).fill(piece))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('a line is longer than 8388608 bytes'),
    });
  });
});

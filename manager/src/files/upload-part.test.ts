import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { readForm } from './upload-part.ts';

/** Reads a form that comes in pieces of this length. */
async function read(
  body: Buffer,
  length: number,
  type = 'multipart/form-data; boundary=X-1',
): Promise<[name: string, filename: string, content: string][]> {
  const pieces = Array.from({ length: Math.ceil(body.length / length) }, (_, index) =>
    body.subarray(index * length, (index + 1) * length),
  );
  const request = Object.assign(Readable.from(pieces, { objectMode: false }).pipe(new PassThrough()), {
    headers: { 'content-type': type },
  });
  const parts: [string, string, string][] = [];
  await readForm(request as unknown as IncomingMessage, { maxParts: 10 }, async ({ name, filename, content }) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    parts.push([name, filename, Buffer.concat(chunks).toString('latin1')]);
  });
  return parts;
}

const part = (headers: string, content: string): string =>
  `--X-1\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${content}\r\n`;

describe('a form, with filenames and without, is read part by part as it comes (M10)', () => {
  const tricky = '\r\n--X-\r\n--X-2\r\n\r\n\xff--X-1\r\n-X-1--\r';
  const body = Buffer.from(
    `${part('name="a"', tricky)}${part('name="b"; filename="b.ts"\r\nContent-Type: text/plain; charset=latin1', tricky)}${part('name="c"\r\nContent-Type: text/plain', '')}--X-1--\r\n`,
    'latin1',
  );

  it.each([1, 2, 3, 7, 64, 10_000])('in pieces of %i bytes', async (length) => {
    expect(await read(body, length)).toEqual([
      ['a', '', tricky],
      ['b', 'b.ts', tricky],
      ['c', '', ''],
    ]);
    expect(await read(body, length, 'Multipart/Form-Data; charset=utf-8; Boundary="X-1"')).toHaveLength(3);
  });

  it('after a preamble; one that is cut short, anywhere, is refused', async () => {
    expect(await read(Buffer.concat([Buffer.from('a preamble\r\n'), body]), 5)).toHaveLength(3);
    for (let end = 1; end < body.length - 4; end += 13) {
      await expect(read(body.subarray(0, end), 50)).rejects.toMatchObject({ code: 'validation_failed' });
    }
  });
});

import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { DomainError } from '@wherry/core/errors.ts';
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

describe('a form of many parts', () => {
  const form = (count: number, bytes: number): Buffer =>
    Buffer.from(`${part('name="f"; filename="f"', 'x'.repeat(bytes)).repeat(count)}--X-1--\r\n`);

  it('may have as many as the limit, and not one more', async () => {
    expect(await read(form(10, 5), 1000)).toHaveLength(10);
    await expect(read(form(11, 5), 1000)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('is read no faster than its parts are taken, a few at once, so that neither files nor memory run out (M10)', async () => {
    const [count, bytes] = [300, 60_000];
    let [sent, taken, open, mostOpen, mostWaiting] = [0, 0, 0, 0, 0];
    const pieces = function* (): Generator<Buffer> {
      const body = form(count, bytes);
      for (let at = 0; at < body.length; at += 65_536) {
        sent = at;
        yield body.subarray(at, at + 65_536);
      }
    };
    const request = Object.assign(Readable.from(pieces(), { objectMode: false, highWaterMark: 65_536 }), {
      headers: { 'content-type': 'multipart/form-data; boundary=X-1' },
    });
    await readForm(request as unknown as IncomingMessage, { maxParts: count }, async ({ content }) => {
      mostOpen = Math.max(mostOpen, ++open);
      // A disk is slower than the network.
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      for await (const chunk of content) taken += chunk.length;
      mostWaiting = Math.max(mostWaiting, sent - taken);
      open--;
    });
    expect(taken).toBe(count * bytes);
    expect(mostOpen).toBeLessThanOrEqual(8);
    expect(mostWaiting).toBeLessThan(2 * 1024 * 1024);
  });

  it('ends when one of them is refused, while others wait for their turn', async () => {
    const refusal = new DomainError('validation_failed', 'no');
    const request = Object.assign(Readable.from([form(100, 5)], { objectMode: false }), {
      headers: { 'content-type': 'multipart/form-data; boundary=X-1' },
    });
    let begun = 0;
    const reading = readForm(request as unknown as IncomingMessage, { maxParts: 100 }, async () => {
      if (++begun > 8) throw refusal;
      await setImmediate();
    });
    await expect(reading).rejects.toBe(refusal);
    expect(begun).toBeLessThan(100);
  });
});

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

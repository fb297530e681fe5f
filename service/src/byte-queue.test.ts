import { ByteQueue } from './byte-queue.ts';

describe('R12, M10: bytes that come in tiny chunks', () => {
  it.each([
    ['large', [20_000, 30_000], [20_000, 30_000]],
    ['small after the first', [1, 1, 1, 1], [1, 3]],
    ['small until there are many', [1, 10_000, 10_000, 10_000], [1, 16_384, 13_616]],
    ['mixed', [1, 5, 20_000, 7, 8], [1, 5, 20_000, 15]],
  ])('gives back all bytes in order, in few pieces, of ones that are %s', (_what, sizes, expected) => {
    const queue = new ByteQueue();
    const all = Buffer.from(Uint8Array.from({ length: sizes.reduce((a, b) => a + b) }, (_, index) => index % 251));
    let at = 0;
    for (const size of sizes) queue.add(all.subarray(at, (at += size)));
    expect(queue.bytes).toBe(all.length);
    const taken: Buffer[] = [];
    for (let piece = queue.take(); piece !== undefined; piece = queue.take()) taken.push(piece);
    expect(taken.map(({ length }) => length)).toEqual(expected);
    expect(Buffer.concat(taken).equals(all)).toBe(true);
    expect(queue.bytes).toBe(0);
  });

  it('gives everything at once, and goes on after that', () => {
    const queue = new ByteQueue();
    for (const text of ['a', 'b', 'c']) queue.add(Buffer.from(text));
    expect([queue.takeAll().toString(), queue.bytes, queue.takeAll().length]).toEqual(['abc', 0, 0]);
    queue.add(Buffer.from('d'));
    expect([queue.bytes, queue.takeAll().toString(), queue.take()]).toEqual([1, 'd', undefined]);
  });

  it('keeps what it gave when more is added', () => {
    const queue = new ByteQueue();
    for (const text of ['a', 'b', 'c']) queue.add(Buffer.from(text));
    const first = [queue.take(), queue.take()];
    for (const text of ['d', 'e', 'f']) queue.add(Buffer.from(text));
    expect([...first, queue.take(), queue.take(), queue.take()].map(String)).toEqual([
      'a',
      'bc',
      'd',
      'ef',
      'undefined',
    ]);
  });
});

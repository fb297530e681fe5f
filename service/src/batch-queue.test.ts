import { fc } from '@wherry/testing/properties.ts';
import { BatchQueue } from './batch-queue.ts';
import { fairShare } from './fair-share.ts';

interface Item {
  owner: string;
  bytes: number;
  n: number;
}

function queueOf(capacity: { items: number; bytes: number }, batch = { items: 10, bytes: 100 }) {
  const dropped: number[] = [];
  const queue = new BatchQueue<Item>({
    capacity,
    batch,
    sizeOf: ({ bytes }) => bytes,
    ownerOf: ({ owner }) => owner,
    onDropped: (count) => dropped.push(count),
  });
  const drain = (): Item[] => {
    const all: Item[] = [];
    while (queue.length > 0) all.push(...queue.take());
    return all;
  };
  return { queue, drain, dropped: () => dropped.reduce((sum, count) => sum + count, 0) };
}

describe('BatchQueue', () => {
  it('hands out batches in order, bounded by count and by bytes', () => {
    const { queue } = queueOf({ items: 1000, bytes: 100_000 });
    for (let n = 0; n < 12; n += 1) queue.push({ owner: 'a', bytes: 1, n });
    for (let n = 12; n < 15; n += 1) queue.push({ owner: 'a', bytes: 40, n });
    expect([queue.take(), queue.take(), queue.take(), queue.take()].map((batch) => batch.map(({ n }) => n))).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      [10, 11, 12, 13],
      [14],
      [],
    ]);
  });

  it('drops the oldest when it is full, and counts them', () => {
    const { queue, drain, dropped } = queueOf({ items: 80, bytes: 8000 });
    for (let n = 0; n < 1000; n += 1) queue.push({ owner: 'a', bytes: 1, n });
    const left = drain();
    expect(left.length).toBeGreaterThanOrEqual(70);
    expect(left.map(({ n }) => n)).toEqual(left.map((_, at) => 1000 - left.length + at));
    expect(dropped()).toBe(1000 - left.length);
  });

  it('drops an item that no batch can hold, and no other for it', () => {
    const { queue, drain, dropped } = queueOf({ items: 80, bytes: 8000 });
    queue.push({ owner: 'a', bytes: 10, n: 0 });
    queue.push({ owner: 'a', bytes: 101, n: 1 });
    expect([drain().map(({ n }) => n), dropped()]).toEqual([[0], 1]);
  });

  it('puts back before all others what could not be sent', () => {
    const { queue, drain } = queueOf({ items: 80, bytes: 8000 });
    for (let n = 0; n < 5; n += 1) queue.push({ owner: 'a', bytes: 50, n });
    const batch = queue.take();
    queue.push({ owner: 'a', bytes: 50, n: 5 });
    queue.putBack(batch);
    expect(drain().map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('S8: an owner with many items takes no room from one with few', () => {
    const { queue, drain } = queueOf({ items: 100, bytes: 10_000 });
    for (let n = 0; n < 10; n += 1) queue.push({ owner: 'quiet', bytes: 100, n });
    for (let n = 0; n < 10_000; n += 1) queue.push({ owner: 'chatty', bytes: 100, n });
    const left = drain();
    expect(left.filter(({ owner }) => owner === 'quiet').map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(left.at(-1)).toMatchObject({ owner: 'chatty', n: 9999 });
  });

  it('is never over its bounds, keeps the order of each owner, and loses none that it does not count', () => {
    const item = fc.record({ owner: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 0, max: 120 }) });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 200 }), (items) => {
        const { queue, drain, dropped } = queueOf({ items: 20, bytes: 600 });
        items.forEach((one, n) => {
          queue.push({ ...one, n });
          if (n % 7 === 0) queue.putBack(queue.take());
          expect(queue.length).toBeLessThanOrEqual(20);
        });
        const left = drain();
        expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(600);
        expect(left.map(({ n }) => n)).toEqual(left.map(({ n }) => n).sort((a, b) => a - b));
        expect(left.length + dropped()).toBe(items.length);
      }),
    );
  });
});

describe('fairShare', () => {
  it.each([
    ['all fit', [1, 2, 3], 6, Infinity],
    ['the largest gives', [1, 2, 30], 13, 10],
    ['all give alike', [10, 10], 10, 5],
    ['none', [], 0, Infinity],
  ])('%s', (_what, sizes, total, share) => {
    expect(fairShare(sizes, total)).toBe(share);
  });
});

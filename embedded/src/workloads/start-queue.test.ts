import { availableParallelism } from 'node:os';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { createStartQueue } from './start-queue.ts';

const AT_ONCE = Math.max(2, availableParallelism());
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('createStartQueue', () => {
  it('lets as many start at once as there are processors, in order', async () => {
    const queue = createStartQueue(new FakeClock());
    const started: number[] = [];
    const ends = Array.from({ length: AT_ONCE + 2 }, () => Promise.withResolvers<void>());
    ends.forEach(({ promise }, index) => queue.add(() => (started.push(index), promise)));
    expect(started).toHaveLength(AT_ONCE);
    ends[0]!.resolve();
    ends[1]!.reject(new Error('one that fails ends its turn, too'));
    await nextTurn();
    expect(started).toEqual(ends.map((_, index) => index));
  });

  it('S3: one that never ends holds the others up for a second at most', async () => {
    const clock = new FakeClock();
    const queue = createStartQueue(clock);
    for (let index = 0; index < AT_ONCE; index += 1) queue.add(() => new Promise(() => undefined));
    let started = false;
    queue.add(async () => void (started = true));
    await clock.advance(999);
    expect(started).toBe(false);
    await clock.advance(1);
    expect(started).toBe(true);
  });
});

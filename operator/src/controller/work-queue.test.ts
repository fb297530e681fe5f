import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { WorkQueue } from './work-queue.ts';

describe('WorkQueue', () => {
  const clock = new FakeClock();
  let queue: WorkQueue;
  let begun: string[];
  let finish: Map<string, (delay?: number) => void>;

  function make(concurrency: number): void {
    begun = [];
    finish = new Map();
    const work = (key: string): Promise<number | undefined> => {
      begun.push(key);
      return new Promise((resolve) => finish.set(key, resolve));
    };
    queue = new WorkQueue({ clock, concurrency, work });
    queue.start();
  }

  it('runs a key once, however often it is added before its turn', async () => {
    make(1);
    for (const key of ['a', 'b', 'b', 'b']) queue.add(key);
    await clock.advance(0);
    expect(begun).toEqual(['a']);
    finish.get('a')?.();
    await clock.advance(0);
    finish.get('b')?.();
    await clock.advance(0);
    expect(begun).toEqual(['a', 'b']);
  });

  it('runs a key again that is added while it runs, and never twice at once', async () => {
    make(4);
    queue.add('a');
    await clock.advance(0);
    queue.add('a');
    queue.add('a');
    await clock.advance(0);
    expect(begun).toEqual(['a']);
    finish.get('a')?.();
    await clock.advance(0);
    expect(begun).toEqual(['a', 'a']);
    finish.get('a')?.();
    await clock.advance(0);
    expect(begun).toEqual(['a', 'a']);
  });

  it('K5: works on others while one hangs, up to its concurrency', async () => {
    make(2);
    for (const key of ['hangs', 'b', 'c', 'd']) queue.add(key);
    await clock.advance(0);
    expect(begun).toEqual(['hangs', 'b']);
    finish.get('b')?.();
    await clock.advance(0);
    finish.get('c')?.();
    await clock.advance(0);
    expect(begun).toEqual(['hangs', 'b', 'c', 'd']);
  });

  it('runs a key after the delay that its work returns, and forgets the delay when it is added before', async () => {
    make(1);
    queue.add('a');
    await clock.advance(0);
    finish.get('a')?.(1000);
    await clock.advance(999);
    expect(begun).toHaveLength(1);
    await clock.advance(1);
    expect(begun).toHaveLength(2);
    finish.get('a')?.(1000);
    await clock.advance(0);
    queue.add('a');
    await clock.advance(0);
    finish.get('a')?.();
    await clock.advance(5000);
    expect(begun).toHaveLength(3);
  });

  it('begins nothing after stop, which waits for what runs', async () => {
    make(1);
    queue.add('a');
    queue.add('b');
    await clock.advance(0);
    let stopped = false;
    const stop = queue.stop().then(() => (stopped = true));
    await clock.advance(0);
    expect(stopped).toBe(false);
    finish.get('a')?.(10);
    await stop;
    await clock.advance(1000);
    expect(begun).toEqual(['a']);
  });
});

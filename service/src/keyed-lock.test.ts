import { KeyedLock } from './keyed-lock.ts';

describe('KeyedLock', () => {
  it('runs the tasks of one key one after the other, in order, past those that fail', async () => {
    const lock = new KeyedLock();
    const seen: string[] = [];
    const task = (name: string) => async (): Promise<string> => {
      seen.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${name} ends`);
      if (name === 'b') throw new Error('b failed');
      return name;
    };
    const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => lock.run('key', task(name))));
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('does not make one key wait for another', async () => {
    const lock = new KeyedLock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const slow = lock.run('slow', () => promise);
    expect(await lock.run('quick', async () => 'done')).toBe('done');
    resolve('done too');
    expect(await slow).toBe('done too');
  });

  it('says whether a task of a key runs or waits, until the last has ended', async () => {
    const lock = new KeyedLock();
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const runs = [lock.run('key', () => first.promise), lock.run('key', () => second.promise)];
    expect([lock.isBusy('key'), lock.isBusy('other')]).toEqual([true, false]);
    first.resolve();
    await runs[0];
    expect(lock.isBusy('key')).toBe(true);
    second.reject(new Error('failed'));
    await expect(runs[1]).rejects.toThrow('failed');
    expect(lock.isBusy('key')).toBe(false);
  });
});

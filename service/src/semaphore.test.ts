import { createSemaphore } from './semaphore.ts';

const never = new AbortController().signal;

describe('createSemaphore', () => {
  it('lets as many in as it has room for, and the others in the order in which they came', async () => {
    const semaphore = createSemaphore(2);
    const order: number[] = [];
    const releases = await Promise.all([semaphore.acquire(never), semaphore.acquire(never)]);
    const waiting = [1, 2].map(async (name) => {
      const release = await semaphore.acquire(never);
      order.push(name);
      release();
    });
    expect(order).toEqual([]);
    releases[0]?.();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2]);
  });

  it('gives no room to one that no longer waits', async () => {
    const semaphore = createSemaphore(1);
    const release = await semaphore.acquire(never);
    const abort = new AbortController();
    const aborted = semaphore.acquire(abort.signal);
    const next = semaphore.acquire(never);
    abort.abort(new Error('no longer wanted'));
    await expect(aborted).rejects.toThrow('no longer wanted');
    release();
    await expect(next).resolves.toBeInstanceOf(Function);
    await expect(semaphore.acquire(abort.signal)).rejects.toThrow('no longer wanted');
  });
});

import { Listeners } from './listeners.ts';

describe('listeners', () => {
  const errors: unknown[][] = [];
  let listeners: Listeners<[name: string, size: number]>;
  beforeEach(() => {
    errors.length = 0;
    listeners = new Listeners((...given) => void errors.push(given));
  });

  it('are notified in the order in which they came, until they stop', () => {
    const seen: string[] = [];
    const stop = listeners.add((name, size) => void seen.push(`first ${name} ${size}`));
    listeners.add((name) => void seen.push(`second ${name}`));
    listeners.notify('a', 1);
    stop();
    stop();
    listeners.notify('b', 2);
    expect(seen).toEqual(['first a 1', 'second a', 'second b']);
  });

  it('each stop for themselves, also where two of them are one function', () => {
    let calls = 0;
    const count = (): void => void (calls += 1);
    const stop = listeners.add(count);
    listeners.add(count);
    listeners.notify('a', 1);
    stop();
    listeners.notify('a', 1);
    expect(calls).toBe(3);
  });

  it('keep their errors from each other', () => {
    const error = new Error('a fault of its own');
    let reached = false;
    listeners.add(() => {
      throw error;
    });
    listeners.add(() => void (reached = true));
    listeners.notify('a', 1);
    expect([reached, errors]).toEqual([true, [[error, ['a', 1]]]]);
  });
});

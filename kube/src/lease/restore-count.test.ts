import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { RestoreCount } from './restore-count.ts';

function counting(): { count: RestoreCount; changes: number[] } {
  const count = new RestoreCount(new FakeLogger());
  const changes: number[] = [];
  count.onChange((value) => changes.push(value));
  return { count, changes };
}
const lease = (version: number | string, restores = 0) => ({ version: String(version), restores });

describe('R8: how often the store was restored', () => {
  it('is what the Lease says, while its version rises', () => {
    const { count, changes } = counting();
    expect(count.current()).toBeUndefined();
    for (const version of [5, 7, 7, '90071992547409931']) count.note(lease(version));
    expect([count.current(), count.wanted, changes]).toEqual([0, 0, [0]]);
  });

  it.each([
    ['an older version', lease(400, 2)],
    ['an older count, at whatever version', lease(9000, 1)],
    ['no count', lease(9000)],
  ])('is one more where the Lease has %s, once that is written', (_what, older) => {
    const { count, changes } = counting();
    count.note(lease(500, 2));
    count.note(older);
    count.note(older);
    expect([count.current(), count.wanted]).toEqual([2, 3]);
    count.note(lease(401, 3));
    count.note(lease(402, 3));
    expect([count.current(), count.wanted, changes]).toEqual([3, 3, [2, 3]]);
  });

  it('is what another replica has counted', () => {
    const { count, changes } = counting();
    count.note(lease(500));
    count.note(lease(300, 1));
    expect([count.current(), count.wanted, changes]).toEqual([1, 1, [0, 1]]);
  });

  it('is one more than a router knows of, unless the Lease says so much when it is read next', () => {
    const { count } = counting();
    count.claim(4);
    count.note(lease(5, 4));
    expect([count.current(), count.wanted]).toEqual([4, 4]);
    count.claim(5);
    count.note(lease(6, 4));
    expect([count.current(), count.wanted]).toEqual([4, 6]);
  });

  it('is one more where a state was shown to have gone back, however often that is said', () => {
    const { count } = counting();
    count.note(lease(5, 1));
    count.wentBack(1);
    count.wentBack(1);
    expect(count.wanted).toBe(2);
    count.note(lease(6, 2));
    count.wentBack(1);
    expect([count.current(), count.wanted]).toEqual([2, 2]);
  });
});

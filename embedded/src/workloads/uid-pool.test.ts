import { buildUid, chooseUidRange, createUidPool, installUid, mayBecomeOthers } from './uid-pool.ts';

describe('chooseUidRange', () => {
  it.each([
    ['the whole range of a machine', '         0          0 4294967295\n', 200_000],
    ['a rootless container', '0 1000 1\n1 100000 65536\n', 61_184],
  ])('finds one in %s', (_name, map, first) => {
    expect(chooseUidRange(map, map)?.first).toBe(first);
  });

  it('needs one number more, for builds', () => {
    const map = (count: number): string => `200000 0 ${count}`;
    expect(chooseUidRange(map(10_001), map(10_001))).toBeUndefined();
    const range = chooseUidRange(map(10_002), map(10_002))!;
    expect([buildUid(range), installUid(range)]).toEqual([210_000, 210_001]);
  });

  it('finds none where only root is mapped, nor where users and groups differ', () => {
    expect(chooseUidRange('0 1000 1\n', '0 1000 1\n')).toBeUndefined();
    expect(chooseUidRange('0 0 4294967295\n', '0 1000 1\n')).toBeUndefined();
  });
});

describe('mayBecomeOthers', () => {
  it.each([
    ['root', '000001ffffffffff', true],
    ['root in a container', '00000000a80425fb', true],
    ['root without SETUID', '00000000a804257b', false],
    ['root without any', '0000000000000000', false],
  ])('knows %s by its capabilities', (_name, capabilities, may) => {
    expect(mayBecomeOthers(`Name:\tnode\nCapPrm:\t0000000000000000\nCapEff:\t${capabilities}\nSeccomp:\t0\n`)).toBe(
      may,
    );
  });
});

describe('createUidPool', () => {
  it('never gives one number twice until it is given back, and says when there is none left', () => {
    const pool = createUidPool({ first: 1000, count: 5 });
    const taken = Array.from({ length: 5 }, () => pool.take());
    expect(taken.toSorted()).toEqual([1000, 1001, 1002, 1003, 1004]);
    expect(() => pool.take()).toThrow('All 5 user ids');
    pool.give(1003);
    expect(pool.take()).toBe(1003);
  });
});

import { fc } from '@wherry/testing/properties.ts';
import { newKey } from './keys-json.ts';
import {
  acknowledge,
  activate,
  beginRotation,
  conclude,
  keyState,
  lostVersions,
  nextRotation,
  purge,
  READER_PATIENCE_MS,
  readersBehind,
  runningRotation,
  withoutReaders,
  type Ring,
} from './ring-transitions.ts';

const NOW = Date.UTC(2026, 0, 1);
const DONE = { processed: 3, total: 3, failed: 0 };
const first = (): Ring => ({ format: 1, current: 1, keys: [newKey(1, NOW)] });
const begun = (...readers: string[]): Ring =>
  beginRotation(
    readers.reduce((ring, reader) => acknowledge(ring, reader), first()),
    NOW,
  );
const states = (ring: Ring): string[] => ring.keys.map((key) => `${key.version} ${keyState(ring, key)}`);

describe('E5: the life of a key', () => {
  it('is added, active, superseded, retired and purged', () => {
    let ring = begun();
    expect(states(ring)).toEqual(['1 active', '2 added']);
    ring = activate(ring, NOW);
    expect(states(ring)).toEqual(['1 superseded', '2 active']);
    ring = conclude(ring, NOW, DONE);
    expect(states(ring)).toEqual(['1 retired', '2 active']);
    expect(states(purge(ring, 1))).toEqual(['2 active']);
    expect(states(beginRotation(purge(ring, 1), NOW))).toEqual(['2 active', '3 added']);
  });

  it('is one rotation at a time', () => {
    expect(() => beginRotation(begun(), NOW)).toThrow('version 2 has been in progress since 2026-01-01T00:00:00.000Z');
  });

  it('E6: keeps the older keys while values do not decrypt, until a look finds none', () => {
    const degraded = conclude(activate(begun(), NOW), NOW, { processed: 2, total: 3, failed: 1 });
    expect(runningRotation(degraded)).toBeUndefined();
    expect(states(degraded)).toEqual(['1 superseded', '2 active']);
    expect(conclude(degraded, NOW, { processed: 2, total: 3, failed: 1 })).toBe(degraded);
    const fixed = conclude(degraded, NOW + 5, DONE);
    expect(states(fixed)).toEqual(['1 retired', '2 active']);
    expect(fixed.rotation).toMatchObject({ failed: 0, finishedAt: new Date(NOW).toISOString() });
  });

  it('counts the next rotation from the last one that ended, also while one runs', () => {
    expect(nextRotation(first(), 1000)).toBe(NOW + 1000);
    const ended = conclude(activate(begun(), NOW), NOW + 50, DONE);
    expect(nextRotation(ended, 1000)).toBe(NOW + 1050);
    expect(nextRotation(beginRotation(ended, NOW + 90), 1000)).toBe(NOW + 1050);
  });

  it.each([
    ['1', begun(), 1, /is active: only a retired key can be purged/],
    ['an unknown one', begun(), 7, /There is no encryption key of version 7/],
    ['one that is not active yet', begun(), 2, /is added: /],
    ['one that values need', activate(begun(), NOW), 1, /is superseded: /],
  ])('purges no other key: %s', (_what, ring, version, message) => {
    expect(() => purge(ring, version)).toThrow(message);
  });

  it('is not purged while a reader has not acknowledged its end', () => {
    const ring = conclude(activate(acknowledge(begun('a'), 'a'), NOW), NOW, DONE);
    expect(() => purge(ring, 1)).toThrow(/^a has not acknowledged/);
    expect(states(purge(acknowledge(ring, 'a'), 1))).toEqual(['2 active']);
    expect(states(purge(withoutReaders(ring, ['a']), 1))).toEqual(['2 active']);
  });

  it('a state that lacks a key which values may need is no successor; a retired one may go', () => {
    const ring = conclude(activate(begun(), NOW), NOW, DONE);
    expect(lostVersions(ring, purge(ring, 1))).toEqual([]);
    expect(lostVersions(ring, first())).toEqual([2]);
    expect(lostVersions(activate(begun(), NOW), { ...begun(), keys: [] })).toEqual([1, 2]);
  });
});

const MOVES = {
  come: (ring: Ring, reader: string) => acknowledge(ring, reader),
  go: (ring: Ring, reader: string) => withoutReaders(ring, [reader]),
};
const STEPS = {
  begin: (ring: Ring) => (runningRotation(ring) ? ring : beginRotation(ring, NOW)),
  activate: (ring: Ring) => activate(ring, NOW),
  conclude: (ring: Ring) => (runningRotation(ring)?.target === ring.current ? conclude(ring, NOW, DONE) : ring),
};

describe('E5: no replica encrypts with a key that another cannot read yet', () => {
  it('waits for every reader, and forgets one that stays silent', () => {
    let ring = begun('a', 'b');
    expect(readersBehind(ring, 'knows')).toEqual(['a', 'b']);
    ring = acknowledge(ring, 'a');
    expect(activate(ring, NOW + READER_PATIENCE_MS - 1)).toBe(ring);
    const late = activate(ring, NOW + READER_PATIENCE_MS);
    expect(late.current).toBe(2);
    expect(Object.keys(late.readers ?? {})).toEqual(['a']);
    expect(activate(acknowledge(ring, 'b'), NOW).current).toBe(2);
  });

  it('in whatever order replicas come, go, acknowledge, rotate and crash', () => {
    const reader = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      fc.record({ type: fc.constant('come' as const), reader }),
      fc.record({ type: fc.constant('go' as const), reader }),
      fc.record({ type: fc.constantFrom('begin' as const, 'activate' as const, 'conclude' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let ring = first();
        for (const one of steps) {
          ring = one.type === 'come' || one.type === 'go' ? MOVES[one.type](ring, one.reader) : STEPS[one.type](ring);
          for (const { knows } of Object.values(ring.readers ?? {})) expect(knows).toBeGreaterThanOrEqual(ring.current);
          expect(ring.keys.filter((key) => keyState(ring, key) === 'active')).toHaveLength(1);
        }
      }),
    );
  });
});

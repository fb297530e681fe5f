import { byAge, createdAt, oldest } from './age.ts';
import { CREATED_AT, type ObjectMeta } from './meta.ts';

function made(name: string, creationTimestamp: string, annotation?: string): { metadata: ObjectMeta } {
  const annotations = annotation === undefined ? {} : { annotations: { [CREATED_AT]: annotation } };
  return {
    metadata: {
      name,
      namespace: 'n',
      uid: name,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp,
      ...annotations,
    },
  };
}

describe('createdAt', () => {
  it.each([
    ['the annotation, which survives a restore', '1000', 1000],
    ['the timestamp without one', undefined, Date.UTC(2026, 0, 1)],
    ['the timestamp where the annotation is no time', 'yesterday', Date.UTC(2026, 0, 1)],
    ['the timestamp where the annotation is negative', '-1', Date.UTC(2026, 0, 1)],
    ['the timestamp where the annotation is empty', '', Date.UTC(2026, 0, 1)],
  ])('is %s', (_title, annotation, expected) => {
    expect(createdAt(made('a', '2026-01-01T00:00:00Z', annotation))).toBe(expected);
  });
});

describe('byAge', () => {
  const objects = [
    made('d', '2026-01-02T00:00:00Z'),
    made('b', '2026-01-01T00:00:00Z'),
    made('c', '2026-01-03T00:00:00Z', '5'),
    made('a', '2026-01-01T00:00:00Z'),
  ];

  it('puts the oldest first, of the same age the smaller name, whatever an annotation says', () => {
    expect(objects.toSorted(byAge).map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'd', 'c']);
    expect(byAge(objects[0]!, objects[0]!)).toBe(0);
  });

  it('oldest is the first of that order, of none there is none', () => {
    expect(oldest(objects)).toBe(objects[3]);
    expect(oldest([])).toBeUndefined();
  });
});

import { compareObject } from './compare-object.ts';

const pod = (changes: object = {}): object => ({
  metadata: { labels: { a: '1' } },
  spec: {
    dnsPolicy: 'ClusterFirst',
    containers: [{ name: 'one', env: [{ name: 'A', value: '1' }], capabilities: { drop: ['ALL'] } }],
    ...changes,
  },
});
const SAME = { differs: false, surplus: [] };
const DIFFERENT = { differs: true, surplus: [] };

describe('compareObject', () => {
  it.each<[string, object, object]>([
    ['is the same', pod(), SAME],
    [
      'has labels, annotations and a status of others',
      { ...pod(), metadata: { labels: { a: '1', b: '2' }, annotations: { c: '3' }, uid: 'u' }, status: { x: 1 } },
      SAME,
    ],
    ['has another label', { ...pod(), metadata: { labels: { a: '2' } } }, DIFFERENT],
    ['has no label', { ...pod(), metadata: {} }, DIFFERENT],
    ['has another value', pod({ dnsPolicy: 'Default' }), DIFFERENT],
    ['lacks a value', pod({ dnsPolicy: undefined }), DIFFERENT],
    ['has one field more', pod({ hostNetwork: true }), { differs: false, surplus: ['/spec/hostNetwork'] }],
    [
      'has another container before ours',
      pod({
        containers: [
          { name: 'zero' },
          { name: 'one', env: [{ name: 'A', value: '1' }], capabilities: { drop: ['ALL'] } },
        ],
      }),
      { differs: false, surplus: ['/spec/containers/0'] },
    ],
    ['lacks the container', pod({ containers: [{ name: 'two' }] }), { differs: true, surplus: ['/spec/containers/0'] }],
    [
      'has an item changed in a list without keys',
      pod({ containers: [{ name: 'one', env: [{ name: 'A', value: '1' }], capabilities: { drop: ['KILL'] } }] }),
      DIFFERENT,
    ],
  ])('says of an object that %s', (_what, actual, expected) => {
    expect(compareObject(pod(), actual)).toEqual(expected);
  });

  it('names surplus in the order in which it can be taken away', () => {
    const actual = { spec: { env: [{ name: 'X' }, { name: 'A' }, { name: 'Y' }], 'a/b~c': 1 } };
    expect(compareObject({ spec: { env: [{ name: 'A' }] } }, actual).surplus).toEqual([
      '/spec/a~1b~0c',
      '/spec/env/2',
      '/spec/env/0',
    ]);
  });
});

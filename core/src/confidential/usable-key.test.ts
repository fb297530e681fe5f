import { FakeReferencedSecrets } from '@wherry/testing/fakes/fake-referenced-secrets.ts';
import { testDigestKey, testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { keyDigest } from '../crypto/key-digest.ts';
import { sealConfidential } from './confidential-fields.ts';
import { createConfidentialReader } from './confidential-reader.ts';
import type { ApiKeyResource, KeyGroupResource } from '../resources/kinds.ts';
import type { ObjectMeta } from '../resources/meta.ts';
import { routerKeys } from './usable-key.ts';

const ring = testKeyRing();
const digestKey = testDigestKey();
const secrets = new FakeReferencedSecrets();
const reader = createConfidentialReader(ring, secrets);

function metadata(name: string): ObjectMeta {
  return {
    name,
    namespace: 'wherry',
    uid: name,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
}

function keyOf(spec: Partial<ApiKeyResource['spec']> = {}): ApiKeyResource {
  const owner = { kind: 'ApiKey' as const, metadata: metadata('key-1') };
  const value = sealConfidential(ring, owner, 'spec.value', 'wh_the-value-of-it');
  return {
    apiVersion: 'wherry.dev/v1alpha1',
    ...owner,
    spec: { keyGroup: 'partners', value, enabled: true, ...spec },
    status: {},
  };
}

const group: KeyGroupResource = {
  apiVersion: 'wherry.dev/v1alpha1',
  kind: 'KeyGroup',
  metadata: metadata('partners'),
  spec: { displayName: 'our-partners' },
  status: {},
};

describe('routerKeys', () => {
  it('R6: holds the digest of the value, and the value nowhere', () => {
    const [key, ...more] = routerKeys(keyOf({ displayName: 'acme' }), group, reader, digestKey);
    expect(more).toEqual([]);
    expect(key).toEqual({
      digest: keyDigest(digestKey, 'wh_the-value-of-it'),
      id: 'key-1',
      name: 'acme',
      groupId: 'partners',
      groupName: 'our-partners',
      expiresAt: null,
    });
    expect(JSON.stringify(key)).not.toContain('wh_');
  });

  it.each([
    ['2030-01-01T00:00:00Z', Date.UTC(2030, 0, 1)],
    ['2030-01-01T02:00:00.5+02:00', Date.UTC(2030, 0, 1) + 500],
    ['no time', 0],
  ])('R7: gives the time of expiry %s in milliseconds; what is no time is past', (expiresAt, expected) => {
    expect(routerKeys(keyOf({ expiresAt }), group, reader, digestKey)[0]?.expiresAt).toBe(expected);
  });

  it.each([
    [
      'being deleted',
      { ...keyOf(), metadata: { ...keyOf().metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } },
      group,
    ],
    ['of a group that is gone', keyOf(), undefined],
    [
      'of a group that is being deleted',
      keyOf(),
      { ...group, metadata: { ...group.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } },
    ],
    ['of another group', keyOf({ keyGroup: 'others' }), group],
  ])('R7: gives no key that is %s', (_title, key, itsGroup) => {
    expect(routerKeys(key, itsGroup, reader, digestKey)).toEqual([]);
  });

  it.each([undefined, '2030-01-01T00:00:00Z'])(
    'R6: a disabled key (expiry %s) is known as one that has expired',
    (expiresAt) => {
      expect(routerKeys(keyOf({ enabled: false, expiresAt }), group, reader, digestKey)).toMatchObject([
        { id: 'key-1', expiresAt: 0 },
      ]);
    },
  );

  it("E2: does not take another key's envelope", () => {
    const moved = { ...keyOf(), metadata: metadata('key-2') };
    expect(routerKeys(moved, group, reader, digestKey)).toEqual([]);
  });

  it('R8: follows a reference to what the Secret says now', () => {
    const key = keyOf({ value: { secretKeyRef: { name: 'a', key: 'b' } } });
    expect(routerKeys(key, group, reader, digestKey)).toEqual([]);
    secrets.set('a', { b: 'wh_the-value-of-it' });
    expect(routerKeys(key, group, reader, digestKey)).toEqual(routerKeys(keyOf(), group, reader, digestKey));
    secrets.set('a', { c: 'wh_the-value-of-it' });
    expect(routerKeys(key, group, reader, digestKey)).toEqual([]);
  });

  describe('of a rotated key', () => {
    const END = '2030-01-01T00:00:00Z';
    const rotated = (
      spec: Partial<ApiKeyResource['spec']> = {},
      previous = 'wh_what-it-was-before',
    ): ApiKeyResource => {
      const owner = { kind: 'ApiKey' as const, metadata: metadata('key-1') };
      const previousValue = sealConfidential(ring, owner, 'spec.previousValue', previous);
      return keyOf({ previousValue, previousValueExpiresAt: END, ...spec });
    };
    const expiries = (spec: Partial<ApiKeyResource['spec']>): (number | null)[] =>
      routerKeys(rotated(spec), group, reader, digestKey).map(({ expiresAt }) => expiresAt);

    it('R6: are those of both values, of one key', () => {
      const [current, previous] = routerKeys(rotated(), group, reader, digestKey);
      expect(current).toEqual(routerKeys(keyOf(), group, reader, digestKey)[0]);
      expect(previous).toEqual({
        ...current,
        digest: keyDigest(digestKey, 'wh_what-it-was-before'),
        expiresAt: Date.parse(END),
      });
    });

    it.each([
      ['with the key, where that expires first', { expiresAt: '2029-01-01T00:00:00Z' }, Date.UTC(2029, 0, 1)],
      ['by itself, where the key lives longer', { expiresAt: '2031-01-01T00:00:00Z' }, Date.parse(END)],
      ['at once, where the key is disabled', { enabled: false }, 0],
      ['at once, where its end is no time', { previousValueExpiresAt: 'soon' }, 0],
    ])('R7: the previous value ends %s', (_when, spec, expected) => {
      expect(expiries(spec)[1]).toBe(expected);
    });

    it('R7: are one where the key went back to its previous value, which does not end then', () => {
      const keys = routerKeys(rotated({}, 'wh_the-value-of-it'), group, reader, digestKey);
      expect(keys.map(({ expiresAt }) => expiresAt)).toEqual([null]);
    });

    it("E2: a value's envelope is no previous value, and the key goes on without one", () => {
      const { value } = keyOf().spec;
      expect(routerKeys(rotated({ previousValue: value }), group, reader, digestKey)).toHaveLength(1);
    });
  });
});

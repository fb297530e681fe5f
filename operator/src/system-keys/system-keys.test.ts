import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { isFeedToken, feedToken } from '@wherry/core/feed/feed-token.ts';
import { keyRingOf, type KeysJson } from '@wherry/service/keys/keys-json.ts';
import { FakeSystemObjects } from '../testing/fake-system-objects.ts';
import { createFeedKeys, type FeedKeys } from './feed-keys.ts';
import { ensureSystemKeys, type SystemKeys } from './system-keys.ts';

const NAMES = ['wherry-digest-key', 'wherry-encryption-keys', 'wherry-management-key', 'wherry-setup-token'];
const DAY = 86_400_000;

let clock: FakeClock;
let secrets: FakeSystemObjects;
let store: FakeResourceStore;
beforeEach(() => {
  clock = new FakeClock();
  secrets = new FakeSystemObjects();
  store = new FakeResourceStore({ clock });
});

const ensure = (): Promise<SystemKeys> =>
  ensureSystemKeys({ secrets, store, name: 'wherry', systemNamespace: 'wherry-system', clock });

async function sealedKey(): Promise<void> {
  const keys = JSON.parse(secrets.text('wherry-encryption-keys', 'keys.json')) as KeysJson;
  const keyRing = keyRingOf(keys);
  const owner = { kind: 'ApiKey' as const, metadata: { namespace: store.namespace, name: 'first' } };
  await store.create({
    kind: 'ApiKey',
    metadata: { name: 'first' },
    spec: { keyGroup: 'team', enabled: true, value: sealConfidential(keyRing, owner, 'spec.value', 'wh_value') },
  });
}

describe('the system keys', () => {
  it('are made once, and are the same for operators that start at once', async () => {
    const all = await Promise.all([ensure(), ensure(), ensure()]);
    const faces = all.map(({ digestKey, invocationKey }) =>
      [Buffer.from(digestKey), Buffer.from(invocationKey)].map((key) => key.toString('hex')).join(),
    );
    expect(new Set(faces).size).toBe(1);
    expect(secrets.names()).toEqual(NAMES);
    expect(secrets.writes).toBe(4);
    expect(secrets.text('wherry-management-key', 'key')).toMatch(/^wh_[\w-]{43}$/);
    expect(secrets.text('wherry-setup-token', 'token')).toMatch(/^[\w-]{43}$/);
    await ensure();
    expect(secrets.writes).toBe(4);
  });

  it('E4: refuses to start without the encryption keys while an object is encrypted; names the Secret and what to do, and makes nothing', async () => {
    await ensure();
    await sealedKey();
    secrets.remove('wherry-encryption-keys');
    await expect(ensure()).rejects.toThrow(
      `The Secret wherry-system/wherry-encryption-keys is missing, and ApiKey ${store.namespace}/first cannot be read without it: restore it from a backup`,
    );
    expect(secrets.names()).not.toContain('wherry-encryption-keys');
  });

  it('makes new encryption keys while all values are references', async () => {
    await ensure();
    await store.create({
      kind: 'ApiKey',
      metadata: { name: 'first' },
      spec: { keyGroup: 'team', enabled: true, value: { secretKeyRef: { name: 'keys', key: 'first' } } },
    });
    secrets.remove('wherry-encryption-keys');
    await ensure();
    expect(secrets.names()).toEqual(NAMES);
  });

  it.each([
    ['wherry-encryption-keys', 'keys.json', ''],
    [
      'wherry-encryption-keys',
      'keys.json',
      '{"format":1,"current":1,"keys":[{"version":1,"secret":"c2hvcnQ=","createdAt":"2026-01-01T00:00:00Z"}]}',
    ],
    ['wherry-encryption-keys', 'other.json', '{}'],
    ['wherry-digest-key', 'key', ''],
    ['wherry-digest-key', 'key', 'c2hvcnQ='],
    ['wherry-management-key', 'key', 'short'],
  ])(
    'E4: refuses to start with a Secret %s whose %s is %j, names it, and replaces nothing',
    async (name, entry, text) => {
      await ensure();
      secrets.put(name, { [entry]: Buffer.from(text) });
      const writes = secrets.writes;
      await expect(ensure()).rejects.toMatchObject({
        name: 'StartError',
        message: expect.stringContaining(`The Secret wherry-system/${name} (`),
      });
      expect(secrets.writes).toBe(writes);
    },
  );
});

describe('the feed keys', () => {
  const operator = (): FeedKeys =>
    createFeedKeys({ secrets, name: 'wherry', systemNamespace: 'wherry-system', clock, logger: new FakeLogger() });

  it('rotate with overlap: every operator takes a token before, while and after, and none makes one that another refuses', async () => {
    const operators = [operator(), operator()];
    const used = new Set<string>();
    let token = '';
    for (let day = 0; day <= 200; day += 1) {
      await clock.advance(DAY / 2);
      // The second lags half a day behind the first.
      await operators[day % 2]?.upkeep();
      if (day === 0) await operators[1]?.upkeep();
      for (const maker of operators) {
        const made = feedToken(maker.current(), 'uid');
        used.add(made);
        for (const taker of operators) expect(isFeedToken(made, 'uid', taker.accepted())).toBe(true);
        if (token !== '') expect(isFeedToken(token, 'uid', maker.accepted())).toBe(true);
      }
      // A pod has the token of half a day ago.
      token = feedToken(operators[0]!.current(), 'uid');
    }
    expect(used.size).toBe(2);
  });

  it('drop a key that is two generations old, and notify of a new current one', async () => {
    const feedKeys = operator();
    await feedKeys.upkeep();
    const first = feedToken(feedKeys.current(), 'uid');
    let changes = 0;
    feedKeys.onChange(() => (changes += 1));
    for (let day = 0; day < 182; day += 1) {
      await clock.advance(DAY);
      await feedKeys.upkeep();
    }
    expect(changes).toBe(2);
    expect(feedKeys.accepted()).toHaveLength(2);
    expect(isFeedToken(first, 'uid', feedKeys.accepted())).toBe(false);
  });

  it('K2: are made again when their Secret is deleted, and new tokens are of the new key', async () => {
    const feedKeys = operator();
    await feedKeys.upkeep();
    let changes = 0;
    feedKeys.onChange(() => (changes += 1));
    secrets.remove('wherry-feed-keys');
    await feedKeys.upkeep();
    expect(changes).toBe(1);
    expect(isFeedToken(feedToken(feedKeys.current(), 'uid'), 'uid', feedKeys.accepted())).toBe(true);
  });
});

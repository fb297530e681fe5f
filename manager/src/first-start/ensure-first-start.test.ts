import { DomainError } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { openConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import type { AuditRecord } from '../audit/audit-record.ts';
import { ensureFirstStart } from './ensure-first-start.ts';

describe('the first start', () => {
  const clock = new FakeClock();
  const keyRing = testKeyRing();
  let store: FakeResourceStore;
  let records: AuditRecord[];
  const audit = { append: async (given: readonly AuditRecord[]): Promise<void> => void records.push(...given) };
  const start = (managementKey?: string): ReturnType<typeof ensureFirstStart> =>
    ensureFirstStart({ store, audit, keyRing, clock, managementKey });
  const names = async (): Promise<string[][]> =>
    Promise.all(
      (['Settings', 'KeyGroup', 'ApiKey'] as const).map(async (kind) =>
        (await store.list(kind)).items.map(({ metadata }) => metadata.name),
      ),
    );

  beforeEach(() => {
    store = new FakeResourceStore({ clock });
    records = [];
  });

  it('makes settings, the group management and the key bootstrap, once, with an audit record of each (M9)', async () => {
    const first = await start();
    expect(first).toEqual({
      managementKey: { value: expect.stringMatching(/^wh_[A-Za-z0-9_-]{43}$/), generated: true },
    });
    expect(await names()).toEqual([['wherry'], ['management'], [expect.stringMatching(/^bootstrap-/)]]);
    const [key] = (await store.list('ApiKey')).items;
    expect(key!.spec).toMatchObject({ keyGroup: 'management', displayName: 'bootstrap', enabled: true });
    expect(openConfidential(keyRing, key!, 'spec.value')).toBe(first.managementKey!.value);
    const writes = store.writes;
    const made = [
      { action: 'key-group.create', object: { kind: 'KeyGroup', id: 'management', name: 'management' } },
      { action: 'key.create', object: { kind: 'ApiKey', id: key!.metadata.name, name: 'bootstrap' } },
    ];
    expect(records).toMatchObject(
      made.map((record) => ({ ...record, actor: { type: 'system', id: null, name: 'wherry' }, result: 'ok' })),
    );
    expect(await start('another-key-value')).toEqual({});
    expect(store.writes).toBe(writes);
    expect(records).toHaveLength(2);
  });

  it('does not bring back what was deleted or renamed since', async () => {
    await start();
    const [key] = (await store.list('ApiKey')).items;
    await store.delete('ApiKey', key!.metadata.name);
    await store.delete('KeyGroup', 'management');
    expect(await start()).toEqual({});
    expect(await names()).toEqual([['wherry'], [], []]);
  });

  it('is not done again when the Settings are deleted: no key gets an old value, and none that was deleted comes back', async () => {
    const { managementKey } = await start();
    await store.delete('Settings', 'wherry');
    expect(await start('another-key-value')).toEqual({});
    const [key] = (await store.list('ApiKey')).items;
    expect(openConfidential(keyRing, key!, 'spec.value')).toBe(managementKey!.value);
    await store.create({ kind: 'ApiKey', metadata: { name: 'mine' }, spec: { ...key!.spec, displayName: 'mine' } });
    await store.delete('ApiKey', key!.metadata.name);
    await store.delete('Settings', 'wherry');
    expect(await start()).toEqual({});
    expect(await names()).toEqual([['wherry'], ['management'], ['mine']]);
  });

  it('takes a given key, and says what is wrong with a bad one', async () => {
    await expect(start('too short')).rejects.toThrow(
      'WHERRY_MANAGEMENT_KEY must be 16 to 256 letters, digits, dashes and underscores.',
    );
    expect(await start('a-good-key-value-0')).toEqual({
      managementKey: { value: 'a-good-key-value-0', generated: false },
    });
    expect(await start('too short')).toEqual({});
  });

  it.each([1, 2, 3, 4])(
    'is done again when it died at write %i, and the key that it shows then works',
    async (write) => {
      const dying = Object.create(store) as FakeResourceStore;
      let left = write;
      const guard =
        <T extends unknown[], R>(real: (...args: T) => Promise<R>) =>
        async (...args: T): Promise<R> => {
          left -= 1;
          if (left === 0) throw new Error('killed');
          return real(...args);
        };
      dying.create = guard(store.create.bind(store));
      dying.update = guard(store.update.bind(store));
      dying.get = store.get.bind(store);
      dying.list = store.list.bind(store);
      await expect(
        ensureFirstStart({ store: Object.assign(dying, { namespace: store.namespace }), audit, keyRing, clock }),
      ).rejects.toThrow('killed');
      const { managementKey } = await start();
      const keys = (await store.list('ApiKey')).items;
      expect(keys.map((key) => openConfidential(keyRing, key, 'spec.value'))).toEqual([managementKey!.value]);
    },
  );

  it('gets over others that write the settings meanwhile', async () => {
    store.failNext('update', new DomainError('conflict', 'stale'));
    expect(await start()).toHaveProperty('managementKey');
    expect(await start()).toEqual({});
  });
});

import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import { described, group, refusal } from './resource-store-samples.ts';

const version = (object: { metadata: { resourceVersion: string } }) => BigInt(object.metadata.resourceVersion);

/** Create, get, list, update, updateStatus and delete of one object at a time. */
export function writeContract(store: () => ResourceStore): void {
  it('assigns the metadata of a new object and gives it an empty status', async () => {
    const created = await store().create(group('team', 'first'));
    expect(created).toEqual({
      apiVersion: 'wherry.dev/v1alpha1',
      kind: 'KeyGroup',
      metadata: {
        name: 'team',
        namespace: store().namespace,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^[1-9][0-9]*$/),
        generation: 1,
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
      spec: { description: 'first' },
      status: {},
    });
    expect(await store().get('KeyGroup', 'team')).toEqual(created);
  });

  it('keeps labels, annotations and finalizers as given, and empty ones not at all', async () => {
    const metadata = {
      labels: { 'wherry.dev/team': 'a' },
      annotations: { 'wherry.dev/created-at': '17' },
      finalizers: ['wherry.dev/hold'],
    };
    const full = await store().create({ ...group('full'), metadata: { name: 'full', ...metadata } });
    expect(full.metadata).toMatchObject(metadata);
    const empty = await store().create({
      ...group('empty'),
      metadata: { name: 'empty', labels: {}, annotations: {}, finalizers: [] },
    });
    expect(Object.keys(empty.metadata)).not.toEqual(expect.arrayContaining(['labels']));
    expect(Object.keys(empty.metadata)).not.toEqual(expect.arrayContaining(['annotations']));
    expect(Object.keys(empty.metadata)).not.toEqual(expect.arrayContaining(['finalizers']));
  });

  it('answers undefined for an absent object, and for one of another kind', async () => {
    await store().create(group('team'));
    expect(await store().get('KeyGroup', 'other')).toBeUndefined();
    expect(await store().get('Settings', 'team')).toBeUndefined();
  });

  it('refuses a second object of a name with a conflict that names kind and name', async () => {
    const first = await store().create(group('team', 'first'));
    const error = await refusal(store().create(group('team', 'second')), 'conflict');
    expect(error.message).toContain('KeyGroup');
    expect(error.message).toContain('team');
    expect(await store().get('KeyGroup', 'team')).toEqual(first);
  });

  it('lists the objects of one kind by name, with a resourceVersion that none of them exceeds', async () => {
    for (const name of ['b', 'a-1', 'c', 'a']) await store().create(group(name));
    await store().create({ kind: 'Settings', metadata: { name: 'wherry' }, spec: { values: {} } });
    const { items, resourceVersion } = await store().list('KeyGroup');
    expect(items.map((item) => item.metadata.name)).toEqual(['a', 'a-1', 'b', 'c']);
    for (const item of items) expect(version(item) <= BigInt(resourceVersion)).toBe(true);
    expect((await store().list('ApiKey')).items).toEqual([]);
  });

  it('grows the resourceVersion with every write, whatever the kind', async () => {
    const first = await store().create(group('a'));
    const second = await store().create({ kind: 'Settings', metadata: { name: 'wherry' }, spec: { values: {} } });
    const third = await store().update(described(first, 'changed'));
    const fourth = await store().updateStatus({ ...third, status: { keys: 1 } });
    const versions = [first, second, third, fourth].map(version);
    expect(versions).toEqual(versions.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(versions).size).toBe(4);
  });

  it('updates the spec: generation and resourceVersion grow, uid, creation and status stay', async () => {
    const created = await store().create(group('team', 'first'));
    const withStatus = await store().updateStatus({ ...created, status: { keys: 3 } });
    const updated = await store().update({ ...described(withStatus, 'second'), status: { keys: 9 } });
    expect(updated).toEqual({
      ...withStatus,
      spec: { description: 'second' },
      metadata: { ...withStatus.metadata, generation: 2, resourceVersion: updated.metadata.resourceVersion },
    });
    expect(version(updated) > version(withStatus)).toBe(true);
    expect(await store().get('KeyGroup', 'team')).toEqual(updated);
  });

  it('replaces labels and annotations without a new generation', async () => {
    const created = await store().create({ ...group('team'), metadata: { name: 'team', labels: { a: '1', b: '2' } } });
    const { labels: _, ...bare } = created.metadata;
    const relabelled = await store().update({ ...created, metadata: { ...bare, labels: { c: '3' } } });
    expect(relabelled.metadata).toMatchObject({ labels: { c: '3' }, generation: 1 });
    expect(version(relabelled) > version(created)).toBe(true);
    const cleared = await store().update({ ...relabelled, metadata: { ...relabelled.metadata, labels: {} } });
    expect(Object.keys(cleared.metadata)).not.toContain('labels');
  });

  it('leaves what the store assigns as it is, whatever an update says of generation', async () => {
    const created = await store().create(group('team'));
    const updated = await store().update({
      ...described(created, 'x'),
      metadata: { ...created.metadata, generation: 77 },
    });
    expect(updated.metadata).toMatchObject({ generation: 2, uid: created.metadata.uid });
  });

  it('updates the status alone: spec, labels and generation of what is sent are not looked at', async () => {
    const created = await store().create(group('team', 'first'));
    const sent = { ...described(created, 'sneaked in'), metadata: { ...created.metadata, labels: { sneaked: 'in' } } };
    const updated = await store().updateStatus({ ...sent, status: { keys: 2 } });
    expect(updated).toEqual({
      ...created,
      metadata: { ...created.metadata, resourceVersion: updated.metadata.resourceVersion },
      status: { keys: 2 },
    });
    expect(version(updated) > version(created)).toBe(true);
  });

  it('K3: writes nothing where nothing differs', async () => {
    const created = await store().create(group('team', 'same'));
    const withStatus = await store().updateStatus({ ...created, status: { keys: 1 } });
    expect(await store().update(withStatus)).toEqual(withStatus);
    expect(await store().updateStatus(withStatus)).toEqual(withStatus);
    expect(await store().update({ ...withStatus, status: { keys: 8 } })).toEqual(withStatus);
    expect(await store().get('KeyGroup', 'team')).toEqual(withStatus);
  });

  it.each(['update', 'updateStatus'] as const)(
    'refuses an %s from a stale resourceVersion, and changes nothing',
    async (method) => {
      const created = await store().create(group('team', 'first'));
      const current = await store().update(described(created, 'second'));
      const error = await refusal(store()[method]({ ...described(created, 'third'), status: { keys: 1 } }), 'conflict');
      expect(error.message).toContain('team');
      expect(await store().get('KeyGroup', 'team')).toEqual(current);
    },
  );

  it.each(['update', 'updateStatus'] as const)(
    'refuses an %s without a resourceVersion, naming the field',
    async (method) => {
      const created = await store().create(group('team'));
      const sent = { ...described(created, 'x'), metadata: { ...created.metadata, resourceVersion: '' } };
      const error = await refusal(store()[method](sent), 'validation_failed');
      expect(error.message).toContain('metadata.resourceVersion');
    },
  );

  it.each(['update', 'updateStatus'] as const)('answers not_found to an %s of an absent object', async (method) => {
    const created = await store().create(group('team'));
    await store().delete('KeyGroup', 'team');
    const error = await refusal(store()[method](created), 'not_found');
    expect(error.message).toContain('team');
  });

  it('deletes, and gives a recreated object another uid and generation 1', async () => {
    const first = await store().create(group('team'));
    const second = await store().update(described(first, 'x'));
    await store().delete('KeyGroup', 'team');
    expect(await store().get('KeyGroup', 'team')).toBeUndefined();
    const error = await refusal(store().delete('KeyGroup', 'team'), 'not_found');
    expect(error.message).toContain('team');
    const again = await store().create(group('team'));
    expect(again.metadata.uid).not.toBe(first.metadata.uid);
    expect(again.metadata.generation).toBe(1);
    expect(version(again) > version(second)).toBe(true);
  });

  it('refuses to update the successor of the object that was read', async () => {
    const first = await store().create(group('team'));
    await store().delete('KeyGroup', 'team');
    const again = await store().create(group('team'));
    await refusal(store().update(described(first, 'x')), 'conflict');
    const mixed = {
      ...described(first, 'x'),
      metadata: { ...first.metadata, resourceVersion: again.metadata.resourceVersion },
    };
    await refusal(store().update(mixed), 'conflict');
    expect(await store().get('KeyGroup', 'team')).toEqual(again);
  });

  it("gives objects that are the caller's own", async () => {
    const sent = { ...group('team', 'first'), metadata: { name: 'team', labels: { a: '1' } } };
    const created = await store().create(sent);
    const pristine = structuredClone(created);
    sent.metadata.labels.a = 'changed by the sender';
    const spoil = (object: KeyGroupResource) => {
      object.spec.description = 'changed by the receiver';
      (object.metadata.labels ??= {})['a'] = 'changed by the receiver';
    };
    spoil(created);
    spoil((await store().get('KeyGroup', 'team'))!);
    spoil((await store().list('KeyGroup')).items[0]!);
    expect(await store().get('KeyGroup', 'team')).toEqual(pristine);
    const unchanged = await store().update(structuredClone(pristine));
    spoil(unchanged);
    expect(await store().get('KeyGroup', 'team')).toEqual(pristine);
  });
}

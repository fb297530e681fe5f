import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import { described, group, refusal, take, withFinalizers } from './resource-store-samples.ts';

const HOLD = 'wherry.dev/hold';
const OTHER = 'wherry.dev/other';

/** Deletion of held objects, and preconditions. */
export function finalizerContract(store: () => ResourceStore): void {
  const held = (finalizers = [HOLD]) => store().create({ ...group('team'), metadata: { name: 'team', finalizers } });
  const deleted = async (finalizers = [HOLD]): Promise<KeyGroupResource> => {
    await held(finalizers);
    await store().delete('KeyGroup', 'team');
    return (await store().get('KeyGroup', 'team'))!;
  };

  it('marks a held object: deletionTimestamp, generation and resourceVersion', async () => {
    const created = await held();
    await store().delete('KeyGroup', 'team');
    const marked = (await store().get('KeyGroup', 'team'))!;
    expect(marked).toEqual({
      ...created,
      metadata: {
        ...created.metadata,
        generation: 2,
        resourceVersion: marked.metadata.resourceVersion,
        deletionTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    });
    expect(BigInt(marked.metadata.resourceVersion) > BigInt(created.metadata.resourceVersion)).toBe(true);
  });

  it('marks it once: a second delete writes nothing', async () => {
    const marked = await deleted();
    await store().delete('KeyGroup', 'team');
    expect(await store().get('KeyGroup', 'team')).toEqual(marked);
  });

  it('keeps the name taken while it is marked', async () => {
    await deleted();
    await refusal(store().create(group('team')), 'conflict');
  });

  it('removes it with its last finalizer, and not before', async () => {
    const marked = await deleted([HOLD, OTHER]);
    const half = await store().update(withFinalizers(marked, [OTHER]));
    expect(half.metadata).toMatchObject({
      finalizers: [OTHER],
      generation: 2,
      deletionTimestamp: marked.metadata.deletionTimestamp,
    });
    await store().update(withFinalizers(half, []));
    expect(await store().get('KeyGroup', 'team')).toBeUndefined();
    const events = await take(store(), 'KeyGroup', { resourceVersion: half.metadata.resourceVersion, count: 1 });
    expect(events).toMatchObject([
      { type: 'deleted', object: { metadata: { name: 'team', uid: marked.metadata.uid } } },
    ]);
  });

  it('refuses new finalizers once deletion has begun', async () => {
    const marked = await deleted();
    const error = await refusal(store().update(withFinalizers(marked, [HOLD, OTHER])), 'validation_failed');
    expect(error.message).toContain('metadata.finalizers');
    expect(await store().get('KeyGroup', 'team')).toEqual(marked);
  });

  it('still takes changes of spec and status while it is marked', async () => {
    const marked = await deleted();
    const updated = await store().update(described(marked, 'late'));
    expect(updated.metadata).toMatchObject({ generation: 3, deletionTimestamp: marked.metadata.deletionTimestamp });
    const reported = await store().updateStatus({ ...updated, status: { keys: 0 } });
    expect(reported).toMatchObject({ spec: { description: 'late' }, status: { keys: 0 } });
  });

  it('does not undo a deletion by an update that leaves deletionTimestamp out', async () => {
    const { metadata, ...rest } = await deleted();
    const { deletionTimestamp, ...bare } = metadata;
    const updated = await store().update(described({ ...rest, metadata: bare }, 'alive?'));
    expect(updated.metadata.deletionTimestamp).toBe(deletionTimestamp);
  });

  it('adds and removes finalizers of a living object as the caller likes', async () => {
    const created = await store().create(group('team'));
    const kept = await store().update(withFinalizers(created, [HOLD]));
    expect(kept.metadata).toMatchObject({ finalizers: [HOLD], generation: 1 });
    const freed = await store().update(withFinalizers(kept, []));
    expect(freed.metadata.generation).toBe(1);
    await store().delete('KeyGroup', 'team');
    expect(await store().get('KeyGroup', 'team')).toBeUndefined();
  });

  it('deletes only the state that the preconditions mean', async () => {
    const created = await store().create(group('team'));
    const current = await store().update(described(created, 'changed'));
    const { uid, resourceVersion } = current.metadata;
    const stale = { resourceVersion: created.metadata.resourceVersion };
    expect((await refusal(store().delete('KeyGroup', 'team', stale), 'conflict')).message).toContain('team');
    await refusal(store().delete('KeyGroup', 'team', { uid: '00000000-0000-4000-8000-000000000000' }), 'conflict');
    await refusal(store().delete('KeyGroup', 'team', { uid, ...stale }), 'conflict');
    expect(await store().get('KeyGroup', 'team')).toEqual(current);
    await store().delete('KeyGroup', 'team', { uid, resourceVersion });
    expect(await store().get('KeyGroup', 'team')).toBeUndefined();
  });
}

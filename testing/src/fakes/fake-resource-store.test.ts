import { conflict } from '@wherry/core/errors.ts';
import { resourceStoreContract } from '../contracts/resource-store-contract.ts';
import { described, group, refusal, take } from '../contracts/resource-store-samples.ts';
import { FakeResourceStore } from './fake-resource-store.ts';

resourceStoreContract('FakeResourceStore', async () => ({
  store: new FakeResourceStore(),
  close: async () => undefined,
}));

describe('FakeResourceStore: the levers', () => {
  it('fails the next calls of an operation with the given errors, in order, and then works again', async () => {
    const store = new FakeResourceStore();
    store.failNext('create');
    store.failNext('create', conflict('first'));
    await refusal(store.create(group('a')), 'unavailable');
    expect((await refusal(store.create(group('a')), 'conflict')).message).toBe('first');
    expect((await store.create(group('a'))).metadata.name).toBe('a');
    store.failNext('watch');
    await refusal(take(store, 'KeyGroup', { resourceVersion: '1', count: 1 }), 'unavailable');
  });

  it('counts what was written, not what was tried', async () => {
    const store = new FakeResourceStore();
    const created = await store.create(group('a'));
    await store.update(created);
    await refusal(store.create(group('a')), 'conflict');
    expect(store.writes).toBe(1);
    await store.update(described(created, 'x'));
    await store.delete('KeyGroup', 'a');
    expect(store.writes).toBe(3);
  });

  it('reports to running and new watches that their state expired; a list heals', async () => {
    const store = new FakeResourceStore();
    const { resourceVersion } = await store.list('KeyGroup');
    const running = take(store, 'KeyGroup', { resourceVersion, count: 1 });
    store.expireWatches();
    expect((await refusal(running, 'conflict')).message).toMatch(/^Expired:/);
    expect((await refusal(take(store, 'KeyGroup', { resourceVersion, count: 1 }), 'conflict')).message).toMatch(
      /^Expired:/,
    );
    const relisted = await store.list('KeyGroup');
    const healed = take(store, 'KeyGroup', { resourceVersion: relisted.resourceVersion, count: 1 });
    const created = await store.create(group('a'));
    expect(await healed).toEqual([{ type: 'added', object: created }]);
  });

  it('drops running watches, and lets new ones go on from where they were', async () => {
    const store = new FakeResourceStore();
    const { resourceVersion } = await store.list('KeyGroup');
    const running = take(store, 'KeyGroup', { resourceVersion, count: 1 });
    store.dropWatches();
    await refusal(running, 'unavailable');
    const again = take(store, 'KeyGroup', { resourceVersion, count: 1 });
    const created = await store.create(group('a'));
    expect(await again).toEqual([{ type: 'added', object: created }]);
  });
});

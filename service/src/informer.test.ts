import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { createInformer, type Informer } from './informer.ts';

interface Setup {
  store: FakeResourceStore;
  clock: FakeClock;
  logger: FakeLogger;
  informer: Informer<'KeyGroup'>;
  changes: string[];
}

function setUp(): Setup {
  const store = new FakeResourceStore();
  const clock = new FakeClock();
  const logger = new FakeLogger();
  const informer = createInformer({ store, kind: 'KeyGroup', clock, logger });
  const changes: string[] = [];
  informer.onChange((name, object) => changes.push(`${name}:${object?.spec.description ?? 'gone'}`));
  return { store, clock, logger, informer, changes };
}

async function write(store: FakeResourceStore, name: string, description: string): Promise<void> {
  const current = await store.get('KeyGroup', name);
  if (current === undefined) await store.create({ kind: 'KeyGroup', metadata: { name }, spec: { description } });
  else await store.update({ ...current, spec: { description } });
}

describe('informer', () => {
  it('holds the first list when start resolves, and follows changes', async () => {
    const { store, clock, informer, changes } = setUp();
    await write(store, 'a', 'one');
    await informer.start();
    expect(informer.get('a')?.spec.description).toBe('one');
    await write(store, 'a', 'two');
    await write(store, 'b', 'new');
    await store.delete('KeyGroup', 'a');
    await clock.idle();
    expect(changes).toEqual(['a:one', 'a:two', 'b:new', 'a:gone']);
    expect(informer.list().map((group) => group.metadata.name)).toEqual(['b']);
    await informer.stop();
  });

  it('keeps trying until a first list succeeds, with growing waits', async () => {
    const { store, clock, logger, informer } = setUp();
    await write(store, 'a', 'one');
    for (let n = 0; n < 3; n += 1) store.failNext('list');
    let synced = false;
    void informer.start().then(() => (synced = true));
    await clock.advance(49);
    expect(synced).toBe(false);
    await clock.advance(700);
    expect(synced).toBe(true);
    expect(logger.lines.filter((line) => line.level === 'warn')).toHaveLength(3);
    await informer.stop();
  });

  it.each([
    ['the watch drops', (store: FakeResourceStore) => store.dropWatches()],
    ['history expires', (store: FakeResourceStore) => store.expireWatches()],
    ['the next watch is refused too', (store: FakeResourceStore) => (store.dropWatches(), store.failNext('watch'))],
  ])('reports only the differences after %s', async (_name, fault) => {
    const { store, clock, informer, changes } = setUp();
    await write(store, 'kept', 'same');
    await write(store, 'changed', 'old');
    await write(store, 'removed', 'old');
    await informer.start();
    changes.length = 0;
    fault(store);
    await write(store, 'changed', 'new');
    await write(store, 'added', 'new');
    await store.delete('KeyGroup', 'removed');
    await clock.advance(1000);
    expect(changes.toSorted()).toEqual(['added:new', 'changed:new', 'removed:gone']);
    await informer.stop();
  });

  it('goes on when a change handler throws, and says so', async () => {
    const { store, clock, logger, informer, changes } = setUp();
    informer.onChange(() => {
      throw new Error('broken handler');
    });
    await informer.start();
    await write(store, 'a', 'one');
    await write(store, 'b', 'two');
    await clock.idle();
    expect(changes).toEqual(['a:one', 'b:two']);
    expect(logger.lines.filter((line) => line.level === 'error')).toHaveLength(2);
    await informer.stop();
  });

  it('stops at once, even while it waits, and calls back no more', async () => {
    const { store, clock, informer, changes } = setUp();
    store.failNext('list');
    const started = informer.start();
    await clock.idle();
    await informer.stop();
    await started;
    await write(store, 'a', 'one');
    await clock.advance(60_000);
    expect(changes).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

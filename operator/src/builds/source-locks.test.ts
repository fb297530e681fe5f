import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import { MAX_SOURCE_LOCKS } from '@wherry/core/resources/code-source.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { createCaches, type Caches } from '../informers/caches.ts';
import { createSourceLocks, type SourceLocks } from './source-locks.ts';

describe('the locks of sources', () => {
  let clock: FakeClock;
  let store: FakeResourceStore;
  let content: FakeContentStore;
  let caches: Caches;
  let locks: SourceLocks;
  beforeEach(async () => {
    clock = new FakeClock();
    store = new FakeResourceStore({ clock });
    content = new FakeContentStore({ clock });
    caches = createCaches({ store, clock, logger: new FakeLogger() });
    await store.create({
      kind: 'CodeSource',
      metadata: { name: 'src-1' },
      spec: { displayName: 'api', type: 'manual', enabled: true },
    });
    await caches.start();
    locks = createSourceLocks({ caches, store, content });
  });
  afterEach(() => caches.stop());

  const used = (asks: string, lock: string, source = 'api'): Parameters<SourceLocks['keep']>[0] =>
    new Map([[source, { asks: sha256(asks), lock }]]);
  const known = (): unknown => locks.known(['api']).get('api');
  const entry = (asks: string, lock: string): object => ({ asks: sha256(asks), lock: sha256(lock) });
  const stored = async (): Promise<unknown> => (await store.get('CodeSource', 'src-1'))?.status.locks;

  it('are kept with the source and as blobs, the newest first, and known at once', async () => {
    expect(await locks.keep(used('1', 'one'))).toBe(true);
    expect(await locks.keep(used('2', 'two'))).toBe(true);
    expect(known()).toEqual([entry('2', 'two'), entry('1', 'one')]);
    expect(await stored()).toEqual(known());
    expect((await content.get(sha256('one'))).toString()).toBe('one');
  });

  it('are known after a restart', async () => {
    await locks.keep(used('1', 'one'));
    await clock.idle();
    expect(createSourceLocks({ caches, store, content }).known(['api']).get('api')).toEqual([entry('1', 'one')]);
  });

  it('K3: are written once', async () => {
    await locks.keep(used('1', 'one'));
    const before = (await store.get('CodeSource', 'src-1'))?.metadata.resourceVersion;
    expect(await locks.keep(used('1', 'one'))).toBe(true);
    expect((await store.get('CodeSource', 'src-1'))?.metadata.resourceVersion).toBe(before);
  });

  it('hold for the first who resolved; others build again', async () => {
    const other = createSourceLocks({ caches, store, content });
    expect(await Promise.all([locks.keep(used('1', 'one')), other.keep(used('1', 'other'))])).toEqual([true, false]);
    expect(await stored()).toEqual([entry('1', 'one')]);
    expect(other.known(['api']).get('api')).toEqual([entry('1', 'one')]);
  });

  it('all get in when several are kept at once', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `${index}`);
    expect(await Promise.all(names.map((name) => locks.keep(used(name, name))))).toEqual(names.map(() => true));
    expect(await stored()).toHaveLength(8);
  });

  it('are so many and no more', async () => {
    for (let index = 0; index <= MAX_SOURCE_LOCKS; index += 1) await locks.keep(used(`${index}`, `${index}`));
    const all = (await stored()) as object[];
    expect(all).toHaveLength(MAX_SOURCE_LOCKS);
    expect(all[0]).toEqual(entry(`${MAX_SOURCE_LOCKS}`, `${MAX_SOURCE_LOCKS}`));
  });

  it('of a source that is gone trouble nobody', async () => {
    expect(await locks.keep(used('1', 'one', 'gone'))).toBe(true);
    expect(locks.known(['gone']).get('gone')).toEqual([]);
  });
});

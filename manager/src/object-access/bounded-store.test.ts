import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { boundedStore } from './bounded-store.ts';

const GROUP = { kind: 'KeyGroup', metadata: { name: 'a' }, spec: {} } as const;
const LIMIT_MS = 4000;

describe('a bounded store', () => {
  const clock = new FakeClock();
  const inner = new FakeResourceStore({ clock });
  let isSilent: boolean;
  let reads: number;
  /** Never answers while it is silent. */
  const distant: ResourceStore = Object.assign(Object.create(inner) as ResourceStore, {
    get: (...given: Parameters<ResourceStore['get']>) => answer(() => inner.get(...given)),
    list: (...given: Parameters<ResourceStore['list']>) => answer(() => inner.list(...given)),
    create: (...given: Parameters<ResourceStore['create']>) => answer(() => inner.create(...given)),
  });
  function answer<T>(call: () => Promise<T>): Promise<T> {
    reads += 1;
    return isSilent ? new Promise(() => undefined) : call();
  }
  let store: ReturnType<typeof boundedStore>;
  beforeEach(() => {
    isSilent = false;
    reads = 0;
    store = boundedStore(distant, clock, LIMIT_MS);
  });
  afterEach(() => store.stop());

  it('forwards what the store answers, refusals too, and leaves no timer', async () => {
    await store.create(GROUP);
    await expect(store.create(GROUP)).rejects.toMatchObject({ code: 'conflict' });
    expect((await store.list('KeyGroup')).items).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('gives up after the limit; calls that come then do not wait at all, until the store answers again', async () => {
    isSilent = true;
    const first = store.get('KeyGroup', 'a');
    first.catch(() => undefined);
    await clock.advance(LIMIT_MS);
    await expect(first).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store.list('KeyGroup')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store.create(GROUP)).rejects.toMatchObject({ code: 'unavailable' });
    expect(reads).toBe(2);
    isSilent = false;
    await clock.advance(1000);
    expect(await store.get('KeyGroup', 'a')).toBeDefined();
    expect(clock.pending).toBe(0);
  });

  it('probes no more once it is stopped', async () => {
    isSilent = true;
    store.get('KeyGroup', 'a').catch(() => undefined);
    await clock.advance(LIMIT_MS);
    store.stop();
    expect(clock.pending).toBe(0);
  });
});

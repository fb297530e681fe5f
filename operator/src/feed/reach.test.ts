import { once } from 'node:events';
import type { ResourceList, ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { StoreRestores } from '@wherry/core/ports/store-restores.ts';
import { KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { lateWatches } from '../testing/late-watches.ts';
import { TestRouter } from '../testing/test-router.ts';
import { TestWorld } from '../testing/test-world.ts';

/** A count that the test agrees on. */
class Counted implements StoreRestores {
  wanted = 0;
  #count = 0;
  #notify: (count: number) => void = () => undefined;

  current(): number {
    return this.#count;
  }

  onChange(callback: (count: number) => void): () => void {
    this.#notify = callback;
    return () => undefined;
  }

  claim(): void {}

  wentBack(count: number): void {
    this.wanted = count + 1;
  }

  agree(count: number): void {
    this.#count = count;
    this.#notify(count);
  }
}

/** A watch without a change. */
// eslint-disable-next-line require-yield
async function* untilAborted(_kind: Kind, { signal }: { signal: AbortSignal }): AsyncGenerator<never, void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** A store that is put back to what it listed when `backUp` was called. */
function restorable(store: ResourceStore): { store: ResourceStore; backUp(): Promise<void>; restore(): void } {
  let isRestored = false;
  const lists = new Map<Kind, ResourceList<Kind>>();
  const proxy = new Proxy(store, {
    get(target, property) {
      if (property === 'list') return (kind: Kind) => (isRestored ? lists.get(kind) : target.list(kind));
      if (property === 'watch' && isRestored) return untilAborted;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    store: proxy,
    async backUp() {
      for (const kind of Object.keys(KINDS) as Kind[]) lists.set(kind, await store.list(kind));
    },
    restore: () => void (isRestored = true),
  };
}

describe('a store that was restored from a backup', () => {
  it('R8: no router is sent a restored state before the restore is counted', async () => {
    const world = new TestWorld();
    await world.upload('api', { 'main.ts': 'export default () => 0;' });
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createKey('kept', 'team', 'wh_kept_key_value');
    const restores = new Counted();
    const { store, backUp, restore } = restorable(world.store);
    await backUp();
    const { router } = await world.start({ store, restores });
    await world.createKey('lost', 'team', 'wh_lost_key_value');
    await world.run(1000);
    const keys = (): string[] => [...router.keys.values()].map(({ id }) => id).sort();
    expect(keys()).toEqual(['kept', 'lost']);
    restore();
    world.store.expireWatches();
    await world.run(2000);
    expect([keys(), restores.wanted]).toEqual([['kept', 'lost'], 1]);
    restores.agree(1);
    await world.run(2000);
    expect(keys()).toEqual(['kept']);
    expect(router.messages.findLast(({ type }) => type === 'snapshot')).toMatchObject({ restores: 1 });
    await world.stop();
  });
});

describe('a router that comes from another operator', () => {
  it('R8: gets nothing from an operator that lags behind what it knows, until that has caught up', async () => {
    const world = new TestWorld();
    await world.upload('api', { 'main.ts': 'export default () => 0;' });
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createKey('revoked', 'team', 'wh_revoked_key_value');
    const late = lateWatches(world.store);
    const { operator, router } = await world.start({ store: late.store });
    await world.run(1000);
    late.hold();
    // The operator that it comes from has sent it the revocation.
    await world.store.delete('ApiKey', 'revoked');
    const { resourceVersion } = await world.store.list('ApiKey');
    const [ahead, behind] = [new TestRouter(), new TestRouter()];
    operator.attachRouter(ahead.channel, { resourceVersion });
    operator.attachRouter(behind.channel, { resourceVersion: '1' });
    await world.run(100);
    expect(ahead.messages).toEqual([]);
    expect([...behind.keys.values()].map(({ id }) => id)).toEqual(['revoked']);
    late.release();
    await world.run(2000);
    const [snapshot] = ahead.messages;
    expect(snapshot).toMatchObject({ type: 'snapshot', keys: [] });
    expect(BigInt(snapshot?.resourceVersion ?? 0)).toBeGreaterThanOrEqual(BigInt(resourceVersion));
    for (const one of [router, behind]) expect(one.keys.size).toBe(0);
    await world.stop();
  });
});

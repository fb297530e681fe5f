import type { ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import { described, group, take, withFinalizers } from './resource-store-samples.ts';

type GroupEvent = Exclude<WatchEvent<'KeyGroup'>, { type: 'bookmark' }>;

const versions = (events: GroupEvent[]) => events.map((event) => event.object.metadata.resourceVersion);

/** What a watch delivers. Expiry cannot be brought about alike in all stores: each proves it beside this suite. */
export function watchContract(store: () => ResourceStore): void {
  const now = async () => (await store().list('KeyGroup')).resourceVersion;

  it('delivers each change of the kind after a resourceVersion, in order and once', async () => {
    await store().create(group('before'));
    const resourceVersion = await now();
    const a = await store().create(group('a'));
    await store().create({ kind: 'Settings', metadata: { name: 'wherry' }, spec: { values: {} } });
    const changed = await store().update(described(a, 'changed'));
    const reported = await store().updateStatus({ ...changed, status: { keys: 1 } });
    const b = await store().create(group('b'));
    await store().delete('KeyGroup', 'a');

    const events = await take(store(), 'KeyGroup', { resourceVersion, count: 5 });
    expect(events.slice(0, 4)).toEqual([
      { type: 'added', object: a },
      { type: 'modified', object: changed },
      { type: 'modified', object: reported },
      { type: 'added', object: b },
    ]);
    const last = events[4]!;
    expect(last).toMatchObject({ type: 'deleted', object: { spec: reported.spec, status: reported.status } });
    expect(last.object.metadata.uid).toBe(a.metadata.uid);
    expect(BigInt(last.object.metadata.resourceVersion) > BigInt(b.metadata.resourceVersion)).toBe(true);
  });

  it('says nothing of a write that changed nothing', async () => {
    const created = await store().create(group('a'));
    const resourceVersion = await now();
    await store().update(created);
    await store().updateStatus(created);
    const b = await store().create(group('b'));
    expect(await take(store(), 'KeyGroup', { resourceVersion, count: 1 })).toEqual([{ type: 'added', object: b }]);
  });

  it('delivers changes that come while it waits, to every watcher', async () => {
    const resourceVersion = await now();
    const watchers = [1, 2, 3].map(() => take(store(), 'KeyGroup', { resourceVersion, count: 2 }));
    const a = await store().create(group('a'));
    const early = await take(store(), 'KeyGroup', { resourceVersion, count: 1 });
    const b = await store().create(group('b'));
    for (const seen of await Promise.all(watchers)) {
      expect(seen).toEqual([
        { type: 'added', object: a },
        { type: 'added', object: b },
      ]);
    }
    expect(early).toEqual([{ type: 'added', object: a }]);
  });

  it('gives each watcher objects of its own', async () => {
    const resourceVersion = await now();
    const created = await store().create(group('a', 'first'));
    const [mine] = await take(store(), 'KeyGroup', { resourceVersion, count: 1 });
    mine!.object.spec.description = 'changed by the receiver';
    expect(await take(store(), 'KeyGroup', { resourceVersion, count: 1 })).toEqual([
      { type: 'added', object: created },
    ]);
    expect(await store().get('KeyGroup', 'a')).toEqual(created);
  });

  it('goes on without gap or repeat from any resourceVersion that it delivered', async () => {
    const resourceVersion = await now();
    let object = await store().create(group('a'));
    for (let i = 0; i < 9; i += 1) object = await store().update(described(object, `change ${i}`));
    const whole = await take(store(), 'KeyGroup', { resourceVersion, count: 10 });
    for (const [index, event] of whole.entries()) {
      const rest = await take(store(), 'KeyGroup', {
        resourceVersion: event.object.metadata.resourceVersion,
        count: 9 - index,
      });
      expect(rest).toEqual(whole.slice(index + 1));
    }
  });

  it('misses nothing while writes and the watch overlap', async () => {
    const resourceVersion = await now();
    const watching = take(store(), 'KeyGroup', { resourceVersion, count: 60 });
    const write = async (name: string) => {
      let object = await store().create(group(name));
      for (let i = 0; i < 9; i += 1) object = await store().update(described(object, `change ${i}`));
    };
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(write));
    const seen = versions(await watching).map(BigInt);
    expect(seen).toEqual(seen.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(seen).size).toBe(60);
  });

  it('starts from 0 with what there is', async () => {
    const a = await store().create(group('a'));
    const b = await store().create(group('b'));
    const events = await take(store(), 'KeyGroup', { resourceVersion: '0', count: 2 });
    expect(events).toEqual([
      { type: 'added', object: a },
      { type: 'added', object: b },
    ]);
  });

  it('delivers the marking of a held object as modified, and its end as deleted', async () => {
    const created = await store().create({ ...group('a'), metadata: { name: 'a', finalizers: ['wherry.dev/hold'] } });
    await store().delete('KeyGroup', 'a');
    const marked = (await store().get('KeyGroup', 'a'))!;
    await store().update(withFinalizers(marked, []));
    const events = await take(store(), 'KeyGroup', { resourceVersion: created.metadata.resourceVersion, count: 2 });
    expect(events[0]).toEqual({ type: 'modified', object: marked });
    expect(events[1]).toMatchObject({ type: 'deleted', object: { metadata: { name: 'a' } } });
  });

  it('ends without an error when the signal aborts, while it waits and before it began', async () => {
    const resourceVersion = await now();
    const stop = new AbortController();
    const waiting = store().watch('KeyGroup', { resourceVersion, signal: stop.signal })[Symbol.asyncIterator]();
    const next = waiting.next();
    stop.abort();
    expect(await next).toMatchObject({ done: true });
    const late = store().watch('KeyGroup', { resourceVersion, signal: stop.signal })[Symbol.asyncIterator]();
    expect(await late.next()).toMatchObject({ done: true });
  });

  it('delivers nothing more once the signal has aborted, though changes lie ready', async () => {
    const resourceVersion = await now();
    for (const name of ['a', 'b', 'c']) await store().create(group(name));
    const stop = new AbortController();
    const names: string[] = [];
    for await (const event of store().watch('KeyGroup', { resourceVersion, signal: stop.signal })) {
      if (event.type === 'bookmark') continue;
      names.push(event.object.metadata.name);
      stop.abort();
    }
    expect(names).toEqual(['a']);
  });
}

import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import type { RouterDown } from '@wherry/core/feed/messages.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { GOOD_KEY, routerFunction, routerKey, snapshot } from '../testing/harness.ts';
import { RouterState } from './router-state.ts';

interface OpenedUpstream extends Upstream {
  isClosed: boolean;
}

function newState(): { state: RouterState; logger: FakeLogger; opened: OpenedUpstream[] } {
  const opened: OpenedUpstream[] = [];
  const logger = new FakeLogger();
  const open = (): Upstream => {
    const upstream: OpenedUpstream = {
      isClosed: false,
      forward: () => ({ resume: () => undefined, abort: () => undefined }),
      close: async () => void (upstream.isClosed = true),
      destroy: async () => undefined,
    };
    opened.push(upstream);
    return upstream;
  };
  return { state: new RouterState(open, logger, new FakeMetrics()), logger, opened };
}

const instance = (id: string) => ({ id, revision: 'r1', address: { path: `/tmp/${id}` }, token: 't' });
const routeOf = (state: RouterState, ...path: string[]): string | undefined =>
  state.table.match(path)?.functions[0]?.spec.id;
const change = (version: number, fields: Partial<Extract<RouterDown, { type: 'change' }>>): RouterDown => ({
  type: 'change',
  version,
  resourceVersion: String(version),
  ...fields,
});

describe('RouterState', () => {
  it('knows nothing, and is not ready, before its first snapshot (R8)', () => {
    const { state } = newState();
    expect(state.apply(change(1, { functions: [routerFunction()] }))).toBe(false);
    expect([state.ready, routeOf(state, 'hello')]).toEqual([false, undefined]);
    expect(state.apply(snapshot(1, [routerFunction()]))).toBe(true);
    expect([state.ready, routeOf(state, 'hello')]).toEqual([true, 'hello']);
  });

  it('never goes back within an epoch, nor to what an operator that lags behind knows (R8)', () => {
    const { state } = newState();
    state.apply(snapshot(5, [routerFunction({ id: 'five' })]));
    expect(state.apply(snapshot(4, [routerFunction({ id: 'four' })]))).toBe(false);
    expect(state.apply(change(5, { removedFunctions: ['five'] }))).toBe(false);
    expect(routeOf(state, 'hello')).toBe('five');
    const other = (resourceVersion: string, id: string) =>
      ({ ...snapshot(1, [routerFunction({ id })]), epoch: `e-${id}`, resourceVersion }) as RouterDown;
    expect([state.isOlder(other('4', 'lagging')), state.apply(other('4', 'lagging'))]).toEqual([true, false]);
    expect(state.apply(other('5', 'equal'))).toBe(true);
    expect([routeOf(state, 'hello'), state.version]).toEqual(['equal', 1]);
    // As integers, longer ones than a double holds.
    expect(state.apply(other('90071992547409931', 'large'))).toBe(true);
    expect(state.isOlder(other('90071992547409930', 'larger'))).toBe(true);
  });

  it('R8: takes an older state of a store that was restored since, and then none from before', () => {
    const { state } = newState();
    const from = (id: string, resourceVersion: string, restores?: number) =>
      ({
        ...snapshot(1, [routerFunction({ id })]),
        epoch: `e-${id}`,
        resourceVersion,
        ...(restores !== undefined && { restores }),
      }) as RouterDown;
    expect(state.apply(from('before', '5000'))).toBe(true);
    expect(state.apply(from('restored', '3000', 1))).toBe(true);
    expect([routeOf(state, 'hello'), state.restores, state.resourceVersion]).toEqual(['restored', 1, '3000']);
    for (const older of [from('lagging', '5001'), from('lags', '2999', 1)])
      expect([state.isOlder(older), state.apply(older)]).toEqual([true, false]);
    expect(state.apply(from('again', '2000', 2))).toBe(true);
    expect([routeOf(state, 'hello'), state.restores]).toEqual(['again', 2]);
  });

  it('knows the newest state of the store that it reflects, whether or not something differed', () => {
    const { state } = newState();
    expect(state.resourceVersion).toBe('0');
    state.apply(snapshot(5, [routerFunction()]));
    state.apply({ type: 'heartbeat', version: 5, resourceVersion: '17' });
    expect(state.resourceVersion).toBe('17');
    // A change was lost: what the heartbeat reflects is not what is known.
    state.apply({ type: 'heartbeat', version: 6, resourceVersion: '20' });
    expect(state.resourceVersion).toBe('17');
    state.apply({ ...change(7, {}), resourceVersion: '21' });
    expect(state.resourceVersion).toBe('21');
  });

  it('applies a change as a whole: a swap of routes never shows both or none', () => {
    const { state } = newState();
    state.apply(snapshot(1, [routerFunction({ id: 'a', route: '/one' }), routerFunction({ id: 'b', route: '/two' })]));
    const functions = [routerFunction({ id: 'a', route: '/two' }), routerFunction({ id: 'b', route: '/one' })];
    state.apply(change(2, { functions }));
    expect([routeOf(state, 'one'), routeOf(state, 'two')]).toEqual(['b', 'a']);
    state.apply(change(3, { removedFunctions: ['a'], functions: [routerFunction({ id: 'c', route: '/two' })] }));
    expect([routeOf(state, 'one'), routeOf(state, 'two')]).toEqual(['b', 'c']);
    expect(state.table.match(['two'])?.functions).toHaveLength(1);
  });

  it('keeps the connections of instances that stay, and closes those of instances that left', () => {
    const { state, opened } = newState();
    state.apply(snapshot(1, [routerFunction({ instances: [instance('a'), instance('b')] })]));
    state.apply(
      change(2, { functions: [routerFunction({ route: '/moved', instances: [instance('b'), instance('c')] })] }),
    );
    expect(opened.map((upstream) => upstream.isClosed)).toEqual([true, false, false]);
    state.apply(snapshot(3, []));
    expect(opened.map((upstream) => upstream.isClosed)).toEqual([true, true, true]);
  });

  it('adds and revokes keys', () => {
    const { state } = newState();
    state.apply(snapshot(1, [], [routerKey(GOOD_KEY)]));
    expect(state.keys?.find(GOOD_KEY)?.id).toBe('key-1');
    state.apply(change(2, { removedKeys: [routerKey(GOOD_KEY).digest], keys: [routerKey('wh_a-second-one')] }));
    expect([state.keys?.find(GOOD_KEY), state.keys?.find('wh_a-second-one')?.id]).toEqual([undefined, 'key-1']);
  });

  it('a route that does not parse closes that function alone', () => {
    const { state, logger } = newState();
    state.apply(snapshot(1, [routerFunction({ id: 'bad', route: '/a//b' }), routerFunction()]));
    expect(routeOf(state, 'hello')).toBe('hello');
    expect(logger.of('error')[0]?.fields).toMatchObject({ function: 'bad', route: '/a//b' });
  });

  it('a digest key that is none leaves the old state active', () => {
    const { state } = newState();
    state.apply(snapshot(1, [routerFunction()]));
    expect(() => state.apply({ ...snapshot(2, []), digestKey: 'short' } as RouterDown)).toThrow('32 bytes');
    expect(routeOf(state, 'hello')).toBe('hello');
  });

  it('applies one change among 10,000 functions and 100,000 keys', () => {
    const { state } = newState();
    const functions = Array.from({ length: 10_000 }, (_, n) => routerFunction({ id: `f${n}`, route: `/f${n}/:id` }));
    const keys = Array.from({ length: 100_000 }, (_, n) => ({ ...routerKey(GOOD_KEY), digest: `digest-${n}` }));
    state.apply(snapshot(1, functions, keys));
    state.apply(change(2, { functions: [routerFunction({ id: 'f7', route: '/seven' })], removedKeys: ['digest-1'] }));
    expect([routeOf(state, 'seven'), routeOf(state, 'f7', '1'), routeOf(state, 'f8', '1')]).toEqual([
      'f7',
      undefined,
      'f8',
    ]);
  });
});

import type { Kind } from '@wherry/core/resources/kinds.ts';
import { conditionOf, TestWorld } from '../testing/test-world.ts';

const SOURCE = { type: 'manual' as const, enabled: true };

describe('the conditions of a function', () => {
  let world: TestWorld;
  beforeEach(async () => {
    world = new TestWorld();
    await world.upload('api', { 'main.ts': 'export {}' });
    await world.start();
  });
  afterEach(() => world.stop());

  it('name the route that matches the same paths, and the methods that both list', async () => {
    await world.createFunction('hello', { route: '/hello/:name', methods: ['GET', 'POST'] });
    await world.run();
    await world.createFunction('rival', { route: '/hello/:x', methods: ['DELETE', 'POST'] });
    await world.run();
    const message =
      'The function hello has the route /hello/:name for POST, which matches the same paths as /hello/:x: change or delete one of the two.';
    expect(conditionOf(await world.fn('rival'), 'RouteAccepted')).toBe(`False RouteConflict: ${message}`);
    expect(conditionOf(await world.fn('rival'), 'Ready')).toBe(`False RouteConflict: ${message}`);
  });

  it('name the key groups that are missing, and say whether any key opens it', async () => {
    await world.createFunction('hello');
    const ready = async (keyGroups: string[]): Promise<string> => {
      await world.edit('Function', 'hello', { keyGroups });
      await world.run();
      return conditionOf(await world.fn('hello'), 'Ready');
    };
    expect(await ready(['one'])).toBe(
      'False KeyGroupNotFound: The key group one, which the function hello names, does not exist: no key may call it. Create the group, or remove it from spec.keyGroups.',
    );
    expect(await ready(['one', 'two'])).toBe(
      'False KeyGroupNotFound: The key groups one, two, which the function hello names, do not exist: no key may call it. Create the groups, or remove them from spec.keyGroups.',
    );
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'two' }, spec: {} });
    expect(await ready(['one', 'two'])).toBe(
      'True KeyGroupNotFound: The key group one, which the function hello names, does not exist: only keys of its other groups may call it. Create the group, or remove it from spec.keyGroups.',
    );
  });

  it('say that it is being deleted while a finalizer holds it, and that waiting helps', async () => {
    await world.createFunction('hello');
    await world.run(500);
    await hold('Function', 'hello');
    const fn = await world.fn('hello');
    const said =
      'Deleting: The Function hello is being deleted: it is gone once its finalizers are removed (example.com/hold).';
    for (const type of ['RouteAccepted', 'Available', 'Ready'] as const)
      expect(conditionOf(fn, type)).toBe(`False ${said}`);
    expect(conditionOf(fn, 'Reconciling')).toBe(`True ${said}`);
    expect(fn.status.observedGeneration).toBe(fn.metadata.generation);
  });

  it.each(['CodeSource', 'KeyGroup', 'ApiKey', 'FunctionSecret'] as const)('and those of a %s say so', async (kind) => {
    await world.store.create({ kind: 'CodeSource', metadata: { name: 'held' }, spec: SOURCE });
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'held' }, spec: {} });
    await world.createKey('held', 'held', 'wh_first_key_value');
    await world.createSecret('held', { name: 'A', scope: 'key', apiKey: 'held' }, 'x');
    await world.run();
    const { owner } = (await world.get('FunctionSecret', 'held')).status;
    await hold(kind, 'held');
    const held = await world.get(kind, 'held');
    expect(conditionOf(held, 'Ready')).toBe(
      `False Deleting: The ${kind} held is being deleted: it is gone once its finalizers are removed (example.com/hold).`,
    );
    expect(owner?.name).toBe('held');
    expect((await world.get('FunctionSecret', 'held')).status.owner).toEqual(owner);
  });

  async function hold(kind: Kind, name: string): Promise<void> {
    const object = await world.get(kind, name);
    await world.store.update({ ...object, metadata: { ...object.metadata, finalizers: ['example.com/hold'] } });
    await world.store.delete(kind, name);
    await world.run();
  }
});

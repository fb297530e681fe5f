import { conditionOf, TestWorld } from '../testing/test-world.ts';

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
      'False KeyGroupNotFound: The key group one, which the function hello names, does not exist: no key opens it. Create the group, or take it out.',
    );
    expect(await ready(['one', 'two'])).toBe(
      'False KeyGroupNotFound: The key groups one, two, which the function hello names, do not exist: no key opens it. Create the groups, or take them out.',
    );
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'two' }, spec: {} });
    expect(await ready(['one', 'two'])).toBe(
      'True KeyGroupNotFound: The key group one, which the function hello names, does not exist: only keys of its other groups open it. Create the group, or take it out.',
    );
  });
});

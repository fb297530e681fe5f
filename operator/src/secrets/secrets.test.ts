import { TestWorld } from '../testing/test-world.ts';
import { ORPHAN_AGE_MS } from './reconcile-secret.ts';

describe('secrets', () => {
  let world: TestWorld;
  beforeEach(async () => {
    world = new TestWorld();
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createKey('first', 'team', 'wh_first_key_value');
    await world.createFunction('hello');
    await world.createSecret('of-function', { name: 'A', scope: 'function', function: 'hello' }, 'x');
    await world.createSecret('of-group', { name: 'A', scope: 'group', keyGroup: 'team' }, 'x');
    await world.createSecret('of-key', { name: 'A', scope: 'key', apiKey: 'first' }, 'x');
    await world.createSecret('global', { name: 'A', scope: 'global' }, 'x');
  });
  afterEach(() => world.stop());
  const names = async (): Promise<string[]> => (await world.store.list('FunctionSecret')).items.map(({ metadata }) => metadata.name).sort();

  it.each([
    ['Function', 'hello', 'of-function'],
    ['KeyGroup', 'team', 'of-group'],
    ['ApiKey', 'first', 'of-key'],
  ] as const)('go with their %s, alone', async (kind, owner, secret) => {
    await world.start();
    const before = await names();
    await world.store.delete(kind, owner);
    await world.run();
    expect(await names()).toEqual(before.filter((name) => name !== secret));
  });

  it('go also when their owner went while no operator ran', async () => {
    const { operator } = await world.start();
    await world.run();
    await operator.stop();
    await world.store.delete('Function', 'hello');
    await world.start();
    await world.run();
    expect(await names()).toEqual(['global', 'of-group', 'of-key']);
  });

  it('that are applied before their owner wait for it', async () => {
    await world.start();
    await world.createSecret('early', { name: 'B', scope: 'function', function: 'later' }, 'x');
    await world.createSecret('lonely', { name: 'B', scope: 'function', function: 'never' }, 'x');
    await world.run(ORPHAN_AGE_MS / 2);
    await world.createFunction('later');
    expect(await names()).toContain('early');
    await world.run(ORPHAN_AGE_MS);
    expect(await names()).toContain('early');
    expect(await names()).not.toContain('lonely');
  });
});

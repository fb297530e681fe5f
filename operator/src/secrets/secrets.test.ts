import { createConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { createCaches } from '../informers/caches.ts';
import { TestWorld } from '../testing/test-world.ts';
import { createSecretOpener } from './open-secrets.ts';
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
  const names = async (): Promise<string[]> =>
    (await world.store.list('FunctionSecret')).items.map(({ metadata }) => metadata.name).sort();

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

  const owners = [
    ['Function', 'hello', 'of-function'],
    ['KeyGroup', 'team', 'of-group'],
    ['ApiKey', 'first', 'of-key'],
  ] as const;
  /** Makes another object of the kind and name. */
  async function makeAgain(kind: (typeof owners)[number][0], name: string): Promise<void> {
    const { spec } = await world.get(kind, name);
    await world.store.delete(kind, name);
    await world.store.create({ kind, metadata: { name }, spec });
  }

  it.each(owners)(
    "S5: of a %s that is made again under its name while no operator runs are not the new one's, and go",
    async (kind, owner, secret) => {
      await world.edit('Function', 'hello', { keyGroups: ['team'] });
      const { operator } = await world.start();
      await world.run();
      await operator.stop();
      await makeAgain(kind, owner);
      const caches = createCaches({ store: world.store, clock: world.clock, logger: world.logger });
      const started = caches.start();
      await world.run(300);
      await started;
      const seen = createSecretOpener(
        caches,
        createConfidentialReader(world.keyRing, world.referencedSecrets),
        world.referencedSecrets,
        world.keyRing,
      );
      const scopes = seen.secretsOf(await world.fn('hello')).map(({ scope }) => scope);
      expect(scopes).toEqual(['function', 'global', 'group', 'key'].filter((scope) => secret !== `of-${scope}`));
      await caches.stop();
      await world.start();
      await world.run();
      expect(await names()).toEqual(['global', ...owners.map(([, , name]) => name)].filter((name) => name !== secret));
    },
  );

  it('K3: are bound once to their owner, and to another one when their spec names it', async () => {
    await world.start();
    await world.run();
    const bound = async (): Promise<unknown> => (await world.get('FunctionSecret', 'of-group')).status.owner;
    const team = await world.get('KeyGroup', 'team');
    expect(await bound()).toEqual({ kind: 'KeyGroup', name: 'team', uid: team.metadata.uid });
    const { writes } = world.store;
    await world.run(3 * 600_000);
    expect(world.store.writes).toBe(writes);
    const other = await world.store.create({ kind: 'KeyGroup', metadata: { name: 'other' }, spec: {} });
    await world.edit('FunctionSecret', 'of-group', { keyGroup: 'other' });
    await world.run();
    expect(await bound()).toEqual({ kind: 'KeyGroup', name: 'other', uid: other.metadata.uid });
    await world.store.delete('KeyGroup', 'team');
    await world.run();
    expect(await names()).toContain('of-group');
  });
});

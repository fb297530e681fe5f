import { createConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { FunctionSecretSpec } from '@wherry/core/resources/function-secret.ts';
import { CREATED_AT } from '@wherry/core/resources/meta.ts';
import { createCaches } from '../informers/caches.ts';
import { conditionOf, TestWorld } from '../testing/test-world.ts';
import { createSecretOpener } from './open-secrets.ts';

type Place = Omit<FunctionSecretSpec, 'value'>;
const GLOBAL: Place = { name: 'TOKEN', scope: 'global' };
const OF_HELLO: Place = { name: 'TOKEN', scope: 'function', function: 'hello' };

describe('secrets of one scope and one name', () => {
  let world: TestWorld;
  beforeEach(async () => {
    world = new TestWorld();
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createKey('first', 'team', 'wh_first_key_value');
    await world.createFunction('hello', { keyGroups: ['team'] });
  });
  afterEach(() => world.stop());

  const ready = async (name: string): Promise<string> => conditionOf(await world.get('FunctionSecret', name), 'Ready');
  const create = async (name: string, place: Place, annotations: Record<string, string> = {}): Promise<void> => {
    await world.createSecret(name, place, `value of ${name}`);
    const secret = await world.get('FunctionSecret', name);
    await world.store.update({ ...secret, metadata: { ...secret.metadata, annotations } });
    // Creation timestamps are whole seconds.
    await world.run(1000);
  };
  /** What handlers of the function get. */
  async function values(): Promise<string[]> {
    const { store, clock, logger, keyRing, referencedSecrets } = world;
    const caches = createCaches({ store, clock, logger });
    const started = caches.start();
    await world.run(300);
    await started;
    const opener = createSecretOpener(
      caches,
      createConfidentialReader(keyRing, referencedSecrets),
      referencedSecrets,
      keyRing,
    );
    const found = opener.secretsOf(await world.fn('hello')).map(({ value }) => value);
    await caches.stop();
    return found;
  }

  it.each<[string, Place]>([
    ['global', GLOBAL],
    ['function', OF_HELLO],
    ['group', { name: 'TOKEN', scope: 'group', keyGroup: 'team' }],
    ['key', { name: 'TOKEN', scope: 'key', apiKey: 'first' }],
  ])(
    'S5: of scope %s the oldest has it, whatever an annotation says, and each other names it',
    async (_scope, place) => {
      await world.start();
      await create('victim', place);
      await create('adup', place, { [CREATED_AT]: '0' });
      await create('another', place);
      expect(await values()).toEqual(['value of victim']);
      expect(await ready('victim')).toBe('True Ready: ');
      for (const name of ['adup', 'another']) {
        const problem = `DuplicateName: The secrets ${name} and victim have the same spec.name, TOKEN, in the same scope: handlers get the value of victim, which is older. Write another name, or delete one of the two secrets.`;
        expect(await ready(name)).toBe(`False ${problem}`);
        expect(conditionOf(await world.get('FunctionSecret', name), 'Stalled')).toBe(`True ${problem}`);
      }
    },
  );

  it('of the same second the first by metadata.name', async () => {
    await world.start();
    for (const name of ['b', 'a']) await world.createSecret(name, GLOBAL, `value of ${name}`);
    await world.run();
    expect(await values()).toEqual(['value of a']);
    expect(await ready('a')).toBe('True Ready: ');
    expect(await ready('b')).toMatch(/^False DuplicateName: /);
  });

  it('another name, scope or owner is another place', async () => {
    await world.start();
    await create('a', GLOBAL);
    await create('b', { ...GLOBAL, name: 'token' });
    await create('c', OF_HELLO);
    await world.createFunction('other');
    await create('d', { ...OF_HELLO, function: 'other' });
    for (const name of ['a', 'b', 'c', 'd']) expect(await ready(name)).toBe('True Ready: ');
    expect((await values()).sort()).toEqual(['value of a', 'value of b', 'value of c']);
  });

  it.each<[string, () => unknown]>([
    ['is deleted', () => world.store.delete('FunctionSecret', 'victim')],
    ['gets another name', () => world.edit('FunctionSecret', 'victim', { name: 'OTHER' })],
    [
      'is being deleted',
      async () => {
        const victim = await world.get('FunctionSecret', 'victim');
        await world.store.update({ ...victim, metadata: { ...victim.metadata, finalizers: ['example.com/hold'] } });
        await world.store.delete('FunctionSecret', 'victim');
      },
    ],
  ])('the next oldest has the place when the oldest %s', async (_what, release) => {
    await world.start();
    for (const name of ['victim', 'second', 'a-third']) await create(name, GLOBAL);
    await release();
    await world.run();
    expect(await ready('second')).toBe('True Ready: ');
    expect(await ready('a-third')).toMatch(/^False DuplicateName: .*: handlers get the value of second,/);
    expect(await values()).toContain('value of second');
  });

  it('one that is edited onto the place of an older one takes nothing from it', async () => {
    await world.start();
    await create('victim', GLOBAL);
    await create('adup', { ...GLOBAL, name: 'OTHER' });
    await world.edit('FunctionSecret', 'adup', { name: 'TOKEN' });
    await world.run();
    expect(await values()).toEqual(['value of victim']);
    expect(await ready('adup')).toMatch(/^False DuplicateName: /);
  });

  it('the oldest keeps its place while its value cannot be read', async () => {
    await world.start();
    await create('victim', GLOBAL);
    await create('adup', GLOBAL);
    await world.edit('FunctionSecret', 'victim', { value: { secretKeyRef: { name: 'absent', key: 'key' } } });
    await world.run();
    expect(await values()).toEqual([]);
    expect(await ready('victim')).toMatch(/^False SecretNotFound: /);
    expect(await ready('adup')).toMatch(/^False DuplicateName: /);
  });

  it('an operator that starts later decides the same, once', async () => {
    await create('victim', GLOBAL);
    await create('adup', GLOBAL);
    await world.start();
    expect(await ready('victim')).toBe('True Ready: ');
    expect(await ready('adup')).toMatch(/^False DuplicateName: /);
    const { writes } = world.store;
    await world.run(3 * 600_000);
    expect(world.store.writes).toBe(writes);
  });
});

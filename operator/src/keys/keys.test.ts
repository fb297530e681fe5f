import { CREATED_AT } from '@wherry/core/resources/meta.ts';
import { conditionOf, TestWorld } from '../testing/test-world.ts';

const VALUE = 'wh_first_key_value';
/** A reference to a Secret that does not exist. */
const OTHER = { secretKeyRef: { name: 'another', key: 'key' } };

describe('Ready, as kubectl wait reads it', () => {
  let world: TestWorld;
  beforeEach(() => {
    world = new TestWorld();
  });
  afterEach(() => world.stop());

  it.each(['KeyGroup', 'ApiKey', 'FunctionSecret', 'Settings'] as const)(
    'K3: is said of a %s that is well, for its generation, and once',
    async (kind) => {
      await world.start();
      await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
      await world.createKey('one', 'team', 'wh_first_key_value');
      await world.createSecret('two', { name: 'A', scope: 'global' }, 'x');
      await world.store.create({ kind: 'Settings', metadata: { name: 'wherry' }, spec: { values: {} } });
      await world.run();
      const {
        items: [object],
      } = await world.store.list(kind);
      expect(object && conditionOf(object, 'Ready')).toBe('True Ready: ');
      expect(object?.status.observedGeneration).toBe(1);
      const { writes } = world.store;
      await world.run(3 * 600_000);
      expect(world.store.writes).toBe(writes);
    },
  );

  it('is not said of a key whose group is not there, and follows the group', async () => {
    await world.start();
    await world.createKey('one', 'team', 'wh_first_key_value');
    await world.run();
    const ready = async (): Promise<string> => conditionOf(await world.get('ApiKey', 'one'), 'Ready');
    expect(await ready()).toMatch(
      /^False KeyGroupNotFound: spec\.keyGroup of the key one names the key group team, which does not exist: /,
    );
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.run();
    expect(await ready()).toBe('True Ready: ');
    await world.store.delete('KeyGroup', 'team');
    await world.run();
    expect(await ready()).toMatch(/^False KeyGroupNotFound: /);
  });

  describe('of a key that routers refuse', () => {
    const DAY = 86_400_000;
    const ready = async (): Promise<string> => conditionOf(await world.get('ApiKey', 'one'), 'Ready');
    const after = (ms: number): string => new Date(world.clock.now() + ms).toISOString();

    beforeEach(async () => {
      await world.start();
      await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
      await world.createKey('one', 'team', 'wh_first_key_value');
      await world.run();
    });

    it('says Disabled while it is disabled', async () => {
      await world.edit('ApiKey', 'one', { enabled: false, expiresAt: after(-1) });
      await world.run();
      expect(await ready()).toMatch(
        /^False Disabled: The key is disabled: calls with it are refused\. Set spec\.enabled /,
      );
      await world.edit('ApiKey', 'one', { enabled: true, expiresAt: undefined });
      await world.run();
      expect(await ready()).toBe('True Ready: ');
    });

    it('says Expired from the moment of its expiry, and Ready when that is put off', async () => {
      const expiresAt = after(2 * DAY);
      await world.edit('ApiKey', 'one', { expiresAt });
      await world.run(2 * DAY - 1);
      expect(await ready()).toBe('True Ready: ');
      // Resyncs come at fractions of a millisecond, and so does what is computed from them.
      await world.run(2);
      expect(await ready()).toBe(
        `False Expired: The key expired at ${expiresAt}: calls with it are refused. Set spec.expiresAt to a later time, or delete the key.`,
      );
      await world.edit('ApiKey', 'one', { expiresAt: after(DAY) });
      await world.run();
      expect(await ready()).toBe('True Ready: ');
    });

    it('says Expired within a day though the wall clock is set forward', async () => {
      await world.edit('ApiKey', 'one', { expiresAt: after(40 * DAY) });
      await world.run();
      world.clock.jump(40 * DAY);
      await world.run(DAY);
      expect(await ready()).toMatch(/^False Expired: /);
    });

    it('says Expired when it expired while no operator ran', async () => {
      await world.edit('ApiKey', 'one', { expiresAt: after(DAY) });
      await world.run();
      await world.stop();
      await world.run(DAY);
      expect(await ready()).toBe('True Ready: ');
      await world.start();
      expect(await ready()).toMatch(/^False Expired: /);
    });
  });

  describe('of keys that share a value', () => {
    const ready = async (name: string): Promise<string> => conditionOf(await world.get('ApiKey', name), 'Ready');
    const refer = async (name: string, metadata: { annotations?: Record<string, string> } = {}): Promise<void> => {
      const value = { secretKeyRef: { name: `secret-of-${name}`, key: 'key' } };
      world.referencedSecrets.set(`secret-of-${name}`, { key: VALUE });
      await world.store.create({
        kind: 'ApiKey',
        metadata: { name, ...metadata },
        spec: { keyGroup: `group-of-${name}`, enabled: true, value },
      });
      // Creation timestamps are whole seconds.
      await world.run(1000);
    };

    beforeEach(async () => {
      for (const name of ['victim', 'adup'])
        await world.store.create({ kind: 'KeyGroup', metadata: { name: `group-of-${name}` }, spec: {} });
    });

    it.each([
      ['a later expiry', {}],
      ['an annotation that says it is older', { annotations: { [CREATED_AT]: '0' } }],
    ])('R8: the oldest keeps it, in what routers receive too, whatever the other has: %s', async (_what, metadata) => {
      const { router } = await world.start();
      await refer('victim');
      await world.edit('ApiKey', 'victim', { expiresAt: new Date(world.clock.now() + 3_600_000).toISOString() });
      await refer('adup', metadata);
      expect([...router.keys.values()].map(({ id }) => id)).toEqual(['victim']);
      expect(await ready('victim')).toBe('True Ready: ');
      const problem =
        'DuplicateValue: The key adup has the same value as the key victim, which is older: calls with that value count as calls with victim. Change spec.value, or the Secret that it names, or delete one of the two keys.';
      expect(await ready('adup')).toBe(`False ${problem}`);
      expect(conditionOf(await world.get('ApiKey', 'adup'), 'Stalled')).toBe(`True ${problem}`);
    });

    it.each<[string, () => unknown]>([
      ['is deleted', () => world.store.delete('ApiKey', 'victim')],
      ['names another Secret', () => world.edit('ApiKey', 'victim', { value: OTHER })],
      ['gets another value in its Secret', () => world.referencedSecrets.set('secret-of-victim', { key: `${VALUE}2` })],
      ['loses its group', () => world.store.delete('KeyGroup', 'group-of-victim')],
    ])('the other one gets it when the oldest %s', async (_what, release) => {
      const { router } = await world.start();
      await refer('victim');
      await refer('adup');
      expect(await ready('adup')).toMatch(/^False DuplicateValue: /);
      await release();
      await world.run();
      expect(await ready('adup')).toBe('True Ready: ');
      expect([...router.keys.values()].map(({ id }) => id)).toContain('adup');
    });

    it('a Secret that gets the value of an older key takes nothing from it', async () => {
      const { router } = await world.start();
      await refer('victim');
      await refer('adup');
      world.referencedSecrets.set('secret-of-adup', { key: `${VALUE}2` });
      await world.run();
      expect([await ready('victim'), await ready('adup')]).toEqual(['True Ready: ', 'True Ready: ']);
      world.referencedSecrets.set('secret-of-adup', { key: VALUE });
      await world.run();
      expect(await ready('victim')).toBe('True Ready: ');
      expect(await ready('adup')).toMatch(/^False DuplicateValue: /);
      expect([...router.keys.values()].map(({ id }) => id)).toEqual(['victim']);
    });

    it('an operator that starts later decides the same', async () => {
      await refer('victim');
      await refer('adup');
      const { router } = await world.start();
      expect([...router.keys.values()].map(({ id }) => id)).toEqual(['victim']);
      expect(await ready('victim')).toBe('True Ready: ');
      expect(await ready('adup')).toMatch(/^False DuplicateValue: /);
    });
  });

  it('is not said of a secret that waits for its owner, which is named', async () => {
    await world.start();
    await world.createSecret('early', { name: 'B', scope: 'function', function: 'later' }, 'x');
    await world.run();
    const secret = await world.get('FunctionSecret', 'early');
    expect(conditionOf(secret, 'Ready')).toMatch(/^False OwnerNotFound: The Function later, .*spec\.scope function/);
    expect(conditionOf(secret, 'Reconciling')).toMatch(/^True OwnerNotFound: /);
    await world.createFunction('later');
    await world.run();
    expect(conditionOf(await world.get('FunctionSecret', 'early'), 'Ready')).toBe('True Ready: ');
  });
});

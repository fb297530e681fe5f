import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import { runtimeDownSchema } from '@wherry/core/feed/messages.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { conditionOf, TestWorld, type RunningOperator } from '../testing/test-world.ts';

const ARTIFACT = 'export default () => new Response();';
const VALUE = 'wh_a_key_in_a_secret';

describe('values in Kubernetes Secrets', () => {
  let world: TestWorld;
  let running: RunningOperator;
  beforeEach(async () => {
    world = new TestWorld();
    await world.content.put(Buffer.from(ARTIFACT));
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createFunction('hello', { keyGroups: ['team'] });
    const secretKeyRef = { name: 'vault', key: 'acme' };
    await world.store.create({
      kind: 'ApiKey',
      metadata: { name: 'acme' },
      spec: { keyGroup: 'team', enabled: true, value: { secretKeyRef } },
    });
    await world.store.create({
      kind: 'FunctionSecret',
      metadata: { name: 'token' },
      spec: { name: 'TOKEN', scope: 'function', function: 'hello', value: { secretKeyRef } },
    });
    world.referencedSecrets.set('vault', { acme: VALUE });
    running = await world.start();
    await world.run();
  });
  afterEach(() => world.stop());

  const keyCondition = async (): Promise<string> => conditionOf(await world.get('ApiKey', 'acme'), 'Ready');
  const secretCondition = async (): Promise<string> => conditionOf(await world.get('FunctionSecret', 'token'), 'Ready');
  const digests = (): string[] => [...running.router.keys.keys()];

  it('R8: a key is active as its Secret says, each change within a second', async () => {
    expect(digests()).toHaveLength(1);
    expect(running.router.keys.get(digests()[0]!)).toMatchObject({ id: 'acme', groupId: 'team' });
    const [before] = digests();
    world.referencedSecrets.set('vault', { acme: 'wh_another_value_of_it' });
    await world.run(900);
    expect(digests()).toHaveLength(1);
    expect(digests()).not.toContain(before);
    world.referencedSecrets.set('vault', undefined);
    await world.run(900);
    expect(digests()).toEqual([]);
    world.referencedSecrets.set('vault', { acme: VALUE });
    await world.run(900);
    expect(digests()).toEqual([before]);
  });

  it('S5: a running function gets the new value within a second', async () => {
    const [theirs, own] = channelPair();
    const values: string[][] = [];
    void (async () => {
      for await (const raw of own.messages()) {
        const message = runtimeDownSchema.parse(raw);
        if (message.type !== 'heartbeat') values.push(message.state.secrets.map(({ value }) => value));
      }
    })();
    running.runtimeFeed.attach(theirs, {
      instanceId: 'i',
      workload: 'w',
      functionName: 'hello',
      revision: sha256(ARTIFACT),
      listen: { path: '/i' },
    });
    await world.run();
    world.referencedSecrets.set('vault', { acme: 'new' });
    await world.run(900);
    world.referencedSecrets.set('other', { acme: 'x' });
    world.referencedSecrets.set('vault', undefined);
    await world.run(900);
    expect(values).toEqual([[VALUE], ['new'], []]);
  });

  it.each<[string, Record<string, string> | undefined, string, RegExp]>([
    [
      'a missing Secret',
      undefined,
      'SecretNotFound',
      /spec\.value refers to the Secret "vault", which does not exist: create it/,
    ],
    ['a missing key', { other: 'x' }, 'SecretKeyNotFound', /key "acme" of the Secret "vault", which does not exist/],
    ['an empty value', { acme: '' }, 'SecretKeyNotFound', /key "acme" of the Secret "vault", which is empty/],
  ])('names %s in conditions, and forgets it when it is fixed', async (_what, data, reason, message) => {
    world.referencedSecrets.set('vault', data);
    await world.run();
    for (const condition of [await keyCondition(), await secretCondition()]) {
      expect(condition).toMatch(new RegExp(`^False ${reason}: `));
      expect(condition).toMatch(message);
    }
    world.referencedSecrets.set('vault', { acme: VALUE });
    await world.run();
    expect(await keyCondition()).toBe('True Ready: ');
    expect(await secretCondition()).toBe('True Ready: ');
  });

  it('says of a key whose Secret holds no key value what one looks like, and never the value', async () => {
    world.referencedSecrets.set('vault', { acme: `${VALUE}\n` });
    await world.run();
    expect(await keyCondition()).toMatch(
      /^False Invalid: The key "acme" of the Secret "vault".*16 to 256.*without a trailing line break/,
    );
    expect(await keyCondition()).not.toContain(VALUE);
    expect(digests()).toEqual([]);
    // A secret of a function may hold anything.
    expect(await secretCondition()).toBe('True Ready: ');
  });

  it('K6: gives nobody the value of a Secret that is not for fields, and names it and the field', async () => {
    world.referencedSecrets.refuse('vault', 'which Wherry manages for itself');
    await world.run();
    for (const condition of [await keyCondition(), await secretCondition()]) {
      expect(condition).toMatch(
        /^False SecretRefused: spec\.value refers to the Secret "vault", which Wherry manages for itself/,
      );
    }
    expect(digests()).toEqual([]);
  });

  it('E6: counts a missing Secret as none that does not decrypt', async () => {
    world.referencedSecrets.set('vault', undefined);
    await world.run();
    expect(running.metrics.value('undecryptable_values', { kind: 'ApiKey' })).toBe(0);
  });
});

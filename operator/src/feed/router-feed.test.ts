import { logEntry } from '@wherry/testing/log-entry.ts';
import { createDigestKey, keyDigest } from '@wherry/core/crypto/key-digest.ts';
import { HEARTBEAT_SECONDS } from '@wherry/core/feed/messages.ts';
import { TestRouter } from '../testing/test-router.ts';
import { conditionOf, DIGEST_SECRET, TestWorld } from '../testing/test-world.ts';

const digest = (value: string): string => keyDigest(createDigestKey(DIGEST_SECRET), value);
const VALUE = 'wh_a_key_of_the_team';

describe("the routers' feed", () => {
  let world: TestWorld;
  beforeEach(async () => {
    world = new TestWorld();
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
  });
  afterEach(() => world.stop());

  it('sends no snapshot before every cache is full, and nothing before the snapshot', async () => {
    await world.createKey('first', 'team', VALUE);
    for (let i = 0; i < 6; i += 1) world.store.failNext('list');
    const starting = world.start();
    await world.clock.idle();
    const { router } = await starting;
    await world.run(1000);
    expect(router.messages[0]).toMatchObject({
      type: 'snapshot',
      keys: [{ id: 'first' }],
      digestKey: Buffer.from(DIGEST_SECRET).toString('base64url'),
    });
  });

  it('R8: a revoked key is gone from the router within a second, and a change is one message', async () => {
    const { router } = await world.start();
    await world.createKey('first', 'team', VALUE);
    await world.run();
    expect(router.keys.get(digest(VALUE))).toEqual({
      digest: digest(VALUE),
      id: 'first',
      name: 'first',
      groupId: 'team',
      groupName: 'team',
      expiresAt: null,
    });
    const before = router.changes().length;
    await world.edit('ApiKey', 'first', { enabled: false });
    await world.run();
    expect(router.keys.get(digest(VALUE))?.expiresAt).toBe(0);
    expect(router.changes().slice(before)).toMatchObject([{ keys: [{ digest: digest(VALUE), expiresAt: 0 }] }]);
    await world.edit('ApiKey', 'first', { enabled: true });
    await world.run();
    expect(router.keys.get(digest(VALUE))?.expiresAt).toBeNull();
    await world.store.delete('ApiKey', 'first');
    await world.run();
    expect(router.keys.size).toBe(0);
  });

  it('a group that goes takes its keys with it, and its new name is sent', async () => {
    const { router } = await world.start();
    await world.createKey('first', 'team', VALUE);
    await world.run();
    await world.edit('KeyGroup', 'team', { displayName: 'the_team' });
    await world.run();
    expect(router.keys.get(digest(VALUE))?.groupName).toBe('the_team');
    await world.store.delete('KeyGroup', 'team');
    await world.run();
    expect(router.keys.size).toBe(0);
  });

  it('R8: a rotated key has both values on routers, the previous one with its end, and one less when that is taken away', async () => {
    const { router } = await world.start();
    await world.createKey('first', 'team', 'wh_new_value_of_the_key');
    await world.run();
    world.referencedSecrets.set('vault', { old: 'wh_old_value_of_the_key' });
    const previousValue = { secretKeyRef: { name: 'vault', key: 'old' } };
    await world.edit('ApiKey', 'first', { previousValue, previousValueExpiresAt: '2030-01-01T00:00:00Z' });
    await world.run();
    const known = (): unknown[] => [...router.keys.values()].map(({ id, expiresAt }) => [id, expiresAt]);
    expect(known()).toEqual([
      ['first', null],
      ['first', Date.UTC(2030, 0, 1)],
    ]);
    world.referencedSecrets.set('vault', { old: 'wh_older_value_of_the_key' });
    await world.run();
    expect(router.changes().at(-1)).toMatchObject({ keys: [{ id: 'first' }], removedKeys: [expect.any(String)] });
    const key = await world.get('ApiKey', 'first');
    const { previousValue: _value, previousValueExpiresAt: _end, ...spec } = key.spec;
    await world.store.update({ ...key, spec });
    await world.run();
    expect(known()).toEqual([['first', null]]);
  });

  it('of keys of one value a previous one counts too: the older key has it', async () => {
    const { router } = await world.start();
    world.referencedSecrets.set('vault', { shared: 'wh_value_of_two_keys_0' });
    const shared = { secretKeyRef: { name: 'vault', key: 'shared' } };
    await world.createKey('older', 'team', 'wh_new_value_of_the_key');
    await world.edit('ApiKey', 'older', { previousValue: shared, previousValueExpiresAt: '2020-01-01T00:00:00Z' });
    await world.run(2000);
    await world.store.create({
      kind: 'ApiKey',
      metadata: { name: 'newer' },
      spec: { keyGroup: 'team', enabled: true, value: shared },
    });
    await world.run();
    expect([...router.keys.values()].map(({ id }) => id)).toEqual(['older', 'older']);
    expect(conditionOf(await world.get('ApiKey', 'newer'), 'Ready')).toMatch(/^False DuplicateValue: /);
    await world.store.delete('ApiKey', 'older');
    await world.run();
    expect([...router.keys.values()].map(({ id }) => id)).toEqual(['newer']);
    expect(conditionOf(await world.get('ApiKey', 'newer'), 'Ready')).toBe('True Ready: ');
  });

  it('of two keys of one value the older one has it, also while it is disabled, until it is deleted', async () => {
    const { router } = await world.start();
    await world.createKey('older', 'team', VALUE);
    // Creation timestamps are whole seconds.
    await world.run(1000);
    await world.createKey('newer', 'team', VALUE);
    await world.run();
    const sent = (): unknown[] => [...router.keys.values()].map(({ id, expiresAt }) => [id, expiresAt]);
    expect(sent()).toEqual([['older', null]]);
    await world.edit('ApiKey', 'older', { enabled: false });
    await world.run();
    expect(sent()).toEqual([['older', 0]]);
    await world.store.delete('ApiKey', 'older');
    await world.run();
    expect(sent()).toEqual([['newer', null]]);
  });

  it('E6: a key that does not open is sent to nobody, is counted, and holds up no other', async () => {
    const { router, metrics } = await world.start();
    const encrypted = 'wherry1.nonsense';
    await world.store.create({
      kind: 'ApiKey',
      metadata: { name: 'broken' },
      spec: { keyGroup: 'team', enabled: true, value: { encrypted } },
    });
    await world.createKey('first', 'team', VALUE);
    await world.run();
    expect([...router.keys.values()].map(({ id }) => id)).toEqual(['first']);
    const broken = await world.get('ApiKey', 'broken');
    expect(broken.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'DecryptionFailed' }),
    );
    expect(JSON.stringify(broken.status)).not.toContain(encrypted);
    expect(metrics.value('undecryptable_values', { kind: 'ApiKey' })).toBe(1);
    expect((await world.get('KeyGroup', 'team')).status.keys).toBe(2);
  });

  it('sends many changes of one moment as one', async () => {
    const { router } = await world.start();
    const before = router.changes().length;
    for (let i = 0; i < 50; i += 1) await world.createKey(`key-${i}`, 'team', `${VALUE}_${i}`);
    await world.run();
    expect(router.keys.size).toBe(50);
    expect(router.changes().length - before).toBeLessThan(5);
  });

  it('beats, with versions that never go back and a resourceVersion that holds what was sent', async () => {
    const { router } = await world.start();
    await world.createKey('first', 'team', VALUE);
    await world.run(3 * HEARTBEAT_SECONDS * 1000);
    const versions = router.messages.map(({ version }) => version);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    const beats = router.messages.filter(({ type }) => type === 'heartbeat');
    expect(beats.length).toBeGreaterThanOrEqual(3);
    const key = await world.get('ApiKey', 'first');
    expect(Number(beats.at(-1)?.resourceVersion)).toBeGreaterThanOrEqual(Number(key.metadata.resourceVersion));
  });

  it('forwards the last uses of keys to the ledger', async () => {
    const { router } = await world.start();
    router.send({ type: 'key-uses', uses: { first: 5 } });
    router.send({ type: 'key-uses', uses: { first: -1 } });
    router.send({ type: 'key-uses', uses: { second: 6 } });
    await world.run();
    expect([...world.keyLedger.uses]).toEqual([
      ['first', 5],
      ['second', 6],
    ]);
  });

  it('sends the log level and the batches that are set', async () => {
    const { router } = await world.start();
    expect(router.messages[0]).toMatchObject({ settings: { logLevel: 'info' } });
    await world.store.create({
      kind: 'Settings',
      metadata: { name: 'wherry' },
      spec: { values: { 'log.level': 'warn', 'log.batching.max-delay-ms': '200' } },
    });
    await world.run();
    expect(router.changes().at(-1)?.settings).toEqual({
      logLevel: 'warn',
      logBatch: { maxEntries: 50, maxDelayMs: 200 },
    });
  });

  it('a new function is sent before anything of it is written, so that a call after its creation waits for it', async () => {
    await world.upload('api', { 'main.ts': 'export {}' });
    const { router } = await world.start();
    for (let i = 0; i < 9; i += 1) world.store.failNext('updateStatus');
    await world.createFunction('hello');
    await world.run(5);
    expect((await world.fn('hello')).status).toEqual({});
    expect(router.functions.get('hello')).toMatchObject({ route: '/hello', revision: null, failure: null });
  });

  it('an edited route is active unless another function has it', async () => {
    await world.upload('api', { 'main.ts': 'export {}' });
    const { router } = await world.start();
    await world.createFunction('holder', { route: '/taken' });
    await world.createFunction('mover', { route: '/old' });
    await world.run();
    await world.edit('Function', 'mover', { route: '/new' });
    await world.run();
    expect(router.functions.get('mover')?.route).toBe('/new');
    await world.edit('Function', 'mover', { route: '/taken' });
    await world.run();
    expect(router.functions.has('mover')).toBe(false);
    const received = router
      .changes()
      .flatMap(({ functions = [] }) => functions.filter(({ id }) => id === 'mover').map(({ route }) => route));
    expect(received).not.toContain('/taken');
    expect(router.functions.get('holder')?.route).toBe('/taken');
  });

  it('S3: an instance that died is out of the record, and its successor in it', async () => {
    await world.upload('api', { 'main.ts': 'export {}' });
    const { router } = await world.start();
    await world.createFunction('hello');
    await world.run();
    const [dead] = router.functions.get('hello')?.instances ?? [];
    world.workloads.kill(dead?.id ?? '');
    await world.run();
    const [alive] = router.functions.get('hello')?.instances ?? [];
    expect(alive?.id).toBeDefined();
    expect(alive?.id).not.toBe(dead?.id);
  });

  it('serves every router, survives nonsense from one, and forwards demand and logs', async () => {
    const { router, operator, metrics } = await world.start();
    const second = new TestRouter();
    const { outcome } = operator.attachRouter(second.channel);
    second.send({ type: 'listening', port: 8000 });
    second.send({ type: 'nonsense' });
    second.send({ type: 'demand', functions: { hello: { inFlight: 2, waiting: 1 } } });
    router.send({ type: 'demand', functions: { hello: { inFlight: 3, waiting: 0 } } });
    const entry = logEntry({ level: 'exec_start', message: 'GET /hello' });
    second.send({ type: 'logs', entries: [entry, { ...entry, level: 'shout' }], dropped: 4 });
    await world.run();
    expect(await outcome).toEqual({ type: 'listening', port: 8000 });
    expect(operator.demand.of('hello')).toEqual({ inFlight: 5, waiting: 1 });
    expect(world.telemetry.entries).toEqual([entry]);
    expect(metrics.value('telemetry_dropped_total', { component: 'router' })).toBe(5);
    second.close();
    await world.run();
    expect(operator.demand.of('hello')).toEqual({ inFlight: 3, waiting: 0 });
    expect(second.messages[0]?.type).toBe('snapshot');
  });
});

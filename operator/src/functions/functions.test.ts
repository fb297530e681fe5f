import { lateWatches } from '../testing/late-watches.ts';
import { conditionOf, TestWorld } from '../testing/test-world.ts';

const GOOD = "import { a } from './helper.ts';";
const HELPER = { 'helper.ts': 'export const a = 1;' };

describe('a function', () => {
  let world: TestWorld;
  beforeEach(() => {
    world = new TestWorld();
  });
  afterEach(() => world.stop());

  async function deployed(): Promise<Awaited<ReturnType<TestWorld['start']>>> {
    await world.upload('api', { 'main.ts': GOOD, ...HELPER });
    const running = await world.start();
    await world.createFunction('hello', {
      scaling: { minReplicas: 2, maxReplicas: 2, targetConcurrency: 50, idleSeconds: 300 },
    });
    await world.run(200);
    return running;
  }

  it('is built, started, and sent to the router with its instances', async () => {
    const { router } = await deployed();
    const fn = await world.fn('hello');
    expect(conditionOf(fn, 'Ready')).toBe('True Ready: ');
    expect(conditionOf(fn, 'RouteAccepted')).toBe('True Accepted: ');
    expect(conditionOf(fn, 'CodeReady')).toMatch(/^True Built: /);
    expect(conditionOf(fn, 'Available')).toBe('True MinimumReplicasAvailable: ');
    expect(fn.status).toMatchObject({
      url: 'http://localhost:8000/run/hello',
      replicas: 2,
      readyReplicas: 2,
      observedGeneration: 1,
    });
    const record = router.functions.get('hello');
    expect(record).toMatchObject({
      route: '/hello',
      revision: fn.status.activeRevision,
      failure: null,
      keyGroups: null,
      timeoutMs: 30_000,
    });
    expect(record?.instances).toHaveLength(2);
    expect(new Set(record?.instances.map(({ token }) => token)).size).toBe(1);
  });

  it('says what keeps its instances from starting', async () => {
    await deployed();
    const { activeWorkload = '' } = (await world.fn('hello')).status;
    world.workloads.hold(activeWorkload, 'No node accepts the pod x: too little memory');
    await world.run();
    const message = 'False Starting: 0 of 2 instances take calls. No node accepts the pod x: too little memory';
    expect(conditionOf(await world.fn('hello'), 'Available')).toBe(message);
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe(message);
    world.workloads.markReady(activeWorkload);
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
  });

  it('K3: is not written again when nothing of it changed', async () => {
    const { operator, metrics } = await deployed();
    const { writes } = world.store;
    const requests = world.workloads.requests.length;
    const before = metrics.value('reconcile_total');
    await world.run(3 * 600_000);
    await operator.idle();
    expect(metrics.value('reconcile_total')).toBeGreaterThan(before + 3);
    expect(world.store.writes).toBe(writes);
    expect(world.workloads.requests).toHaveLength(requests);
    expect(world.builder.requests).toHaveLength(1);
  });

  it('moves to an edited helper in one change, and the old workload goes after it', async () => {
    const { router } = await deployed();
    const before = router.functions.get('hello');
    const changes = router.changes().length;
    router.silent = true;
    await world.upload('api', { 'main.ts': GOOD, 'helper.ts': 'export const a = 2;' });
    await world.run(1500);
    const during = router.changes().slice(changes);
    expect(
      during.filter(({ functions }) => functions?.some(({ revision }) => revision !== before?.revision)),
    ).toHaveLength(1);
    for (const change of during) {
      for (const fn of change.functions ?? []) {
        expect(fn.instances.length).toBe(2);
        expect(fn.instances.every(({ revision }) => revision === fn.revision)).toBe(true);
      }
    }
    // The router has not said that it knows: what it may still call stays.
    expect(world.workloads.list()).toHaveLength(2);
    router.confirm();
    await world.run(50);
    expect(world.workloads.list().map(({ revision }) => revision)).toEqual([router.functions.get('hello')?.revision]);
    expect((await world.fn('hello')).status.revisions).toHaveLength(2);
  });

  it('does not wait for ever for a router that does not answer', async () => {
    const { router } = await deployed();
    router.silent = true;
    await world.upload('api', { 'main.ts': GOOD, 'helper.ts': 'export const a = 2;' });
    await world.run(10_000);
    expect(world.workloads.list()).toHaveLength(1);
  });

  it('keeps serving its last good revision after a broken edit, and says file, line and column', async () => {
    const { router } = await deployed();
    const before = router.functions.get('hello');
    await world.upload('api', { 'main.ts': GOOD, 'helper.ts': "\nf('a' 'b')" });
    await world.run(200);
    const fn = await world.fn('hello');
    expect(conditionOf(fn, 'CodeReady')).toMatch(/^False SyntaxError: api\/helper\.ts:2:\d+: /);
    expect(conditionOf(fn, 'Ready')).toMatch(/^False SyntaxError: .*api\/helper\.ts:2:/);
    expect(conditionOf(fn, 'Available')).toMatch(/^True /);
    expect(router.functions.get('hello')).toEqual(before);
    await world.upload('api', { 'main.ts': GOOD, 'helper.ts': 'export const a = 3;' });
    await world.run(200);
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
    expect(router.functions.get('hello')?.revision).not.toBe(before?.revision);
  });

  it('keeps serving when its file, and then its source, is deleted', async () => {
    const { router } = await deployed();
    const before = router.functions.get('hello');
    await world.upload('api', HELPER);
    await world.run(200);
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^False HandlerNotFound: /);
    await world.store.delete('CodeSource', 'api');
    await world.run(200);
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^False SourceNotFound: /);
    expect(router.functions.get('hello')).toEqual(before);
  });

  it.each([
    ['LoadError', 'handler_load_error'],
    ['CrashLoop', 'handler_load_error'],
    ['ExportError', 'handler_export_error'],
  ] as const)(
    'Bad deploy: a first revision that ends in %s answers %s and is not tried for ever',
    async (reason, code) => {
      await world.upload('api', { 'main.ts': 'export {}' });
      const [probe] = await buildsOf(world);
      world.workloads.breakRevision(probe, { reason, message: 'it is broken' });
      const { router } = await world.start();
      await world.createFunction('hello');
      await world.run(10_000);
      expect(conditionOf(await world.fn('hello'), 'Ready')).toBe(`False ${reason}: it is broken`);
      expect(conditionOf(await world.fn('hello'), 'Available')).toBe(`False ${reason}: it is broken`);
      // Why is for the owner, in the status: a caller gets it only where the function is in debug.
      expect(router.functions.get('hello')).toMatchObject({
        failure: { code, message: '' },
        revision: null,
        instances: [],
      });
      expect(world.workloads.list()).toEqual([]);
      expect(world.workloads.requests.filter((request) => 'ensure' in request)).toHaveLength(1);
      const fn = await world.fn('hello');
      await world.store.update({ ...fn, spec: { ...fn.spec, debug: true } });
      await world.run(1000);
      expect(router.functions.get('hello')).toMatchObject({ failure: { code, message: 'it is broken' } });
    },
  );

  it('Bad deploy: a later revision that does not load never takes over', async () => {
    const { router } = await deployed();
    const before = router.functions.get('hello');
    await world.upload('api', { 'main.ts': 'export {}', ...HELPER });
    const [probe] = await buildsOf(world);
    world.workloads.breakRevision(probe, { reason: 'CrashLoop', message: 'exited with code 1, again and again' });
    await world.run(10_000);
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toBe(
      'False CrashLoop: exited with code 1, again and again',
    );
    expect(router.functions.get('hello')).toEqual(before);
    expect(world.workloads.list()).toHaveLength(1);
  });

  it('waits without a failure while it is built for the first time', async () => {
    await world.upload('api', { 'main.ts': 'export {}' });
    const { router } = await world.start();
    world.builder.hang();
    await world.createFunction('hello');
    await world.run();
    expect(router.functions.get('hello')).toMatchObject({ failure: null, revision: null, instances: [] });
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^Unknown Building: /);
    world.builder.release();
    await world.run();
    expect(router.functions.get('hello')?.instances).toHaveLength(1);
  });

  it.each([
    [{ handler: 'api/absent.ts' }, 'HandlerNotFound', 'handler_not_found'],
    [{ handler: 'nowhere/main.ts' }, 'SourceNotFound', 'handler_not_found'],
    [{ handler: 'api/broken.ts' }, 'SyntaxError', 'handler_syntax_error'],
  ])('without a good revision: %j gives %s and %s', async (spec, reason, code) => {
    await world.upload('api', { 'main.ts': 'export {}', 'broken.ts': "f('a' 'b')" });
    const { router } = await world.start();
    await world.createFunction('hello', spec);
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(new RegExp(`^False ${reason}: `));
    expect(router.functions.get('hello')?.failure?.code).toBe(code);
  });

  it('is ready as soon as what was missing is there', async () => {
    const { router } = await world.start();
    await world.createFunction('hello');
    await world.run();
    await world.upload('api', { 'main.ts': "import './../shared/util.ts'; import { b } from '../shared/util.ts';" });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^False ImportNotFound: /);
    await world.upload('shared', { 'util.ts': 'export const b = 1;' });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
    const before = router.functions.get('hello')?.revision;
    await world.upload('shared', { 'util.ts': 'export const b = 2;' });
    await world.run();
    expect(router.functions.get('hello')?.revision).not.toBe(before);
  });

  it('is not built again for what it does not rest on', async () => {
    await deployed();
    await world.upload('other', { 'x.ts': '1' });
    await world.createFunction('twin');
    await world.run();
    expect(conditionOf(await world.fn('twin'), 'Ready')).toBe('True Ready: ');
    expect(world.builder.requests).toHaveLength(1);
  });

  it('is reconciled for the tree that becomes active, not for what else changes in its source', async () => {
    const { metrics, operator } = await deployed();
    const reconciles = (): number => metrics.value('reconcile_total', { controller: 'function' });
    const before = reconciles();
    await world.edit('CodeSource', 'api', { enabled: false });
    await world.run();
    await operator.idle();
    expect(conditionOf(await world.get('CodeSource', 'api'), 'Ready')).toMatch(/^False Disabled/);
    expect(reconciles()).toBe(before);
    await world.edit('CodeSource', 'api', { displayName: 'other' });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^False SourceNotFound/);
  });

  it('of two with one route the older has it; when that goes, the other gets it', async () => {
    const { router } = await deployed();
    await world.createFunction('rival', { route: '/hello' });
    await world.run();
    expect(conditionOf(await world.fn('rival'), 'Ready')).toBe(
      'False RouteConflict: The function hello has the route /hello for GET: change or delete one of the two.',
    );
    expect(router.functions.has('rival')).toBe(false);
    await world.store.delete('Function', 'hello');
    await world.run();
    expect(conditionOf(await world.fn('rival'), 'Ready')).toBe('True Ready: ');
    expect(router.functions.has('hello')).toBe(false);
    expect(router.functions.get('rival')?.instances).toHaveLength(1);
    expect(world.workloads.list().map(({ functionName }) => functionName)).toEqual(['rival']);
  });

  it('that is disabled is gone from the router before its instances go, and comes back', async () => {
    const { router } = await deployed();
    router.silent = true;
    await world.edit('Function', 'hello', { enabled: false });
    await world.run();
    expect(router.functions.has('hello')).toBe(false);
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^False Disabled: /);
    expect(world.workloads.list()).toHaveLength(1);
    router.confirm();
    router.silent = false;
    await world.run();
    expect(world.workloads.list()).toEqual([]);
    await world.edit('Function', 'hello', { enabled: true });
    await world.run();
    expect(router.functions.get('hello')?.instances).toHaveLength(2);
    expect(world.builder.requests).toHaveLength(1);
  });

  it('serves its pin whatever the source says, and follows the source again without it', async () => {
    const { router } = await deployed();
    const first = (await world.fn('hello')).status.activeRevision;
    await world.upload('api', { 'main.ts': 'export {}', ...HELPER });
    await world.run();
    const second = (await world.fn('hello')).status.activeRevision;
    await world.edit('Function', 'hello', { revision: first });
    await world.run();
    expect(router.functions.get('hello')?.revision).toBe(first);
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^True Pinned: /);
    await world.edit('Function', 'hello', { revision: 'f'.repeat(64) });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^False RevisionNotFound: /);
    expect(router.functions.get('hello')?.revision).toBe(first);
    await world.edit('Function', 'hello', { revision: undefined });
    await world.run();
    expect(router.functions.get('hello')?.revision).toBe(second);
  });

  it('gets a new workload for new limits, and the old one serves until that is ready', async () => {
    const { router } = await deployed();
    const before = (await world.fn('hello')).status;
    await world.edit('Function', 'hello', { resources: { memoryMiB: 256, cpuMillis: null } });
    await world.run();
    const after = (await world.fn('hello')).status;
    expect(after.activeRevision).toBe(before.activeRevision);
    expect(after.activeWorkload).not.toBe(before.activeWorkload);
    expect(router.functions.get('hello')?.instances.every(({ id }) => id.startsWith(after.activeWorkload ?? '-'))).toBe(
      true,
    );
    expect(world.workloads.list()).toHaveLength(1);
  });

  it('whose key groups are gone stays closed and says so', async () => {
    const { router } = await deployed();
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.edit('Function', 'hello', { keyGroups: ['team'] });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
    await world.store.delete('KeyGroup', 'team');
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^False KeyGroupNotFound: /);
    expect(router.functions.get('hello')?.keyGroups).toEqual(['team']);
  });

  it('is started at once after a restart of the service, before its code is built again', async () => {
    const { operator } = await deployed();
    await operator.stop();
    for (const { name } of world.workloads.list()) await world.workloads.remove(name);
    world.builder.hang();
    const { writes } = world.store;
    const { router } = await world.start();
    expect(router.functions.get('hello')?.instances).toHaveLength(2);
    world.builder.release();
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
    expect(world.store.writes - writes).toBeLessThanOrEqual(2);
  });

  it('S3: whose good revision begins to crash says so, is kept, and is ready when it is again', async () => {
    const { router } = await deployed();
    const { activeWorkload = '' } = (await world.fn('hello')).status;
    world.workloads.fail(activeWorkload, { reason: 'CrashLoop', message: 'exited with code 1, again and again' });
    await world.run();
    const crashing = await world.fn('hello');
    expect(conditionOf(crashing, 'Ready')).toBe('False CrashLoop: exited with code 1, again and again');
    // Nothing answers calls now, and no condition says so.
    expect(conditionOf(crashing, 'CodeReady')).toMatch(/^True Built: Revision [0-9a-f]{12} is active\.$/);
    expect(router.functions.get('hello')).toMatchObject({ instances: [], failure: null });
    world.workloads.markReady(activeWorkload);
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
    expect(router.functions.get('hello')?.instances).toHaveLength(2);
  });

  it('that is deleted is gone from the router before its instances go', async () => {
    const { router } = await deployed();
    router.silent = true;
    await world.store.delete('Function', 'hello');
    await world.run();
    expect(router.functions.has('hello')).toBe(false);
    expect(world.workloads.list()).toHaveLength(1);
    router.confirm();
    await world.run();
    expect(world.workloads.list()).toEqual([]);
  });

  it('keeps its instances while routers may still go by what an operator before this one sent them', async () => {
    const { operator } = await deployed();
    await operator.stop();
    await world.start({ routersReturnMs: 10_000 });
    await world.store.delete('Function', 'hello');
    await world.run(8000);
    expect(world.workloads.list()).toHaveLength(1);
    await world.run(4000);
    expect(world.workloads.list()).toEqual([]);
  });

  it('whose old workload went is not brought back by an operator whose cache lags', async () => {
    const { router } = await deployed();
    const lagging = lateWatches(world.store);
    await world.start({ store: lagging.store });
    lagging.hold();
    const old = (await world.fn('hello')).status.activeWorkload ?? '';
    const before = world.workloads.requests.length;
    await world.upload('api', { 'main.ts': 'export {}', ...HELPER });
    await world.run(8000);
    const requests = world.workloads.requests.slice(before);
    expect(requests).toContainEqual({ remove: old });
    expect(requests.filter((request) => 'ensure' in request && request.ensure.name === old)).toEqual([]);
    lagging.release();
    await world.run(2000);
    expect(world.workloads.list().map(({ revision }) => revision)).toEqual([router.functions.get('hello')?.revision]);
  });

  it('K5: that cannot be started does not hold up another', async () => {
    await deployed();
    world.workloads.refuse(new Error('no more processes'));
    await world.createFunction('stuck');
    await world.run();
    world.workloads.refuse(undefined);
    await world.createFunction('other');
    await world.run(20);
    expect(conditionOf(await world.fn('other'), 'Ready')).toBe('True Ready: ');
    await world.run(1000);
    expect(conditionOf(await world.fn('stuck'), 'Ready')).toBe('True Ready: ');
  });
});

/** The revision that the handler builds to now. */
async function buildsOf(world: TestWorld): Promise<[string]> {
  const source = await world.get('CodeSource', 'api');
  const tree = JSON.parse((await world.content.get(source.spec.manual?.tree ?? '')).toString()) as never;
  const result = await world.builder.build(
    { source: 'api', path: 'main.ts', trees: new Map([['api', tree]]) },
    new AbortController().signal,
  );
  world.builder.requests.pop();
  if (!result.ok) throw new Error(result.message);
  return [result.revision];
}

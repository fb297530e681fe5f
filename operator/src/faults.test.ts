import { failingPorts, type Fault } from './testing/failing-ports.ts';
import { TestWorld, type RunningOperator } from './testing/test-world.ts';

/** What users do; each begins with the world that `prepare` leaves. */
const SCENARIOS: Record<string, (world: TestWorld) => Promise<void>> = {
  'a first deploy': async (world) => {
    await world.upload('web', { 'main.ts': "import { c } from '../api/common.ts';" });
    await world.createFunction('fresh', { handler: 'web/main.ts', keyGroups: ['team'] });
    await world.createKey('second', 'team', 'wh_second_key_value');
  },
  'an edit': (world) =>
    world.upload('api', { 'main.ts': 'export const edited = 1;', 'common.ts': 'export const c = 1;' }),
  'a broken edit': (world) => world.upload('api', { 'main.ts': "f('a' 'b')", 'common.ts': 'export const c = 1;' }),
  'new limits': (world) => world.edit('Function', 'hello', { resources: { memoryMiB: 256, cpuMillis: null } }),
  disabling: (world) => world.edit('Function', 'hello', { enabled: false }),
  'deleting a function that another waits for': async (world) => {
    await world.createFunction('rival', { route: '/hello' });
    await world.store.delete('Function', 'hello');
  },
  'deleting a key': (world) => world.store.delete('ApiKey', 'first'),
};
const FAULTS: Fault[] = ['refused', 'answer lost', 'killed before it', 'killed after it'];
/** No scenario needs more writes than this. */
const MANY = 30;

async function prepare(): Promise<TestWorld> {
  const world = new TestWorld();
  await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
  await world.createKey('first', 'team', 'wh_first_key_value');
  await world.upload('api', { 'main.ts': "import { c } from './common.ts';", 'common.ts': 'export const c = 1;' });
  await world.createFunction('hello');
  await world.createSecret('token', { name: 'token', scope: 'function', function: 'hello' }, 's3cret');
  const { operator } = await world.start();
  await world.run(500);
  await operator.stop();
  return world;
}

/** All that is there in the end, without what only time and chance decide. */
async function finalState(world: TestWorld, { router }: RunningOperator): Promise<object> {
  const { items } = await world.store.list('Function');
  // A uid is chance; whose it is, is not.
  const named = new Map(items.map(({ metadata }) => [metadata.uid, metadata.name]));
  const functions = items.map(({ metadata, status }) => ({
    name: metadata.name,
    ...status,
    conditions: status.conditions?.map(({ type, status: value, reason, message }) => ({
      type,
      value,
      reason,
      message,
    })),
    revisions: status.revisions?.map(({ revision, sourceRevision }) => ({ revision, sourceRevision })),
  }));
  const others = await Promise.all(
    (['CodeSource', 'KeyGroup', 'FunctionSecret'] as const).map((kind) => world.store.list(kind)),
  );
  const known = [...router.functions.values()].map((record) => ({
    ...record,
    instances: record.instances.map(({ revision }) => revision),
  }));
  return {
    functions,
    others: others.flatMap((list) =>
      list.items.map(({ metadata, status }) => {
        const owner =
          'owner' in status && status.owner !== undefined
            ? { ...status.owner, uid: named.get(status.owner.uid) }
            : undefined;
        return { name: metadata.name, ...status, owner, conditions: undefined };
      }),
    ),
    workloads: world.workloads
      .list()
      .map(({ name, replicas }) => ({ name, replicas }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    known: known.sort((a, b) => (a.id < b.id ? -1 : 1)),
    keys: [...router.keys.values()].map(({ id }) => id).sort(),
  };
}

/** Runs a scenario with one write that goes wrong, and if that killed the operator, another one after it. */
async function runWithFault(scenario: string, at: number, fault: Fault): Promise<{ state: object; writes: number }> {
  const world = await prepare();
  const ports = failingPorts(world, at, fault);
  const first = await world.start(ports);
  await SCENARIOS[scenario]?.(world);
  await world.run(3000);
  const last = ports.killed() ? await world.start() : first;
  await world.run(20_000);
  const state = await finalState(world, last);
  await world.stop();
  return { state, writes: ports.count() };
}

describe.each(Object.keys(SCENARIOS))('%s', (scenario) => {
  it.each(FAULTS)('ends in the same state when any single write of the operator is %s', async (fault) => {
    const { state: expected, writes } = await runWithFault(scenario, 0, fault);
    expect(writes).toBeGreaterThan(0);
    expect(writes).toBeLessThan(MANY);
    for (let at = 1; at <= writes; at += 1) {
      const { state } = await runWithFault(scenario, at, fault);
      expect({ at, ...state }).toEqual({ at, ...expected });
    }
  });

  it('ends in the same state with two operators that both believe they lead, with no workload too many', async () => {
    const { state: expected } = await runWithFault(scenario, 0, 'refused');
    const world = await prepare();
    const one = await world.start();
    const two = await world.start();
    const before = world.workloads.requests.length;
    await SCENARIOS[scenario]?.(world);
    await world.run(20_000);
    expect(await finalState(world, one)).toEqual(expected);
    expect(await finalState(world, two)).toEqual(expected);
    const ensured = world.workloads.requests
      .slice(before)
      .flatMap((request) => ('ensure' in request ? [request.ensure.name] : []));
    expect(new Set(ensured).size).toBeLessThanOrEqual(2);
    await world.stop();
  });
});

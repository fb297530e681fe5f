import { eventually } from '@wherry/testing/eventually.ts';
import { connectKube, type KubeClient } from '@wherry/kube/client/kube-client.ts';
import { startApiServer, type ApiServer } from '@wherry/kube/testing/api-server.ts';
import { startFaultProxy, type FaultProxy, type ProxiedRequest } from '@wherry/kube/testing/fault-proxy.ts';
import { installCrds } from '@wherry/kube/testing/install-crds.ts';
import { ownLeases } from '@wherry/kube/testing/own-leases.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { ClusterWorld, type KubeItem } from '../testing/cluster-world.ts';
import { PlayedPods } from '../testing/played-pods.ts';
import type { Program } from '../testing/program.ts';

const MINUTE = 60_000;
const IN_SYNC_MS = MINUTE;
/** Nothing of an operator's own waits for longer than this. */
const QUIET_MS = 6000;
const FUNCTIONS = ['one', 'two'];
/** What users do, five times each; no two leave the same code and the same template. */
const CHANGES = 10;

/**
 * One may remove a workload between the other's look at the newest state and its write, which no API call makes one
 * step; the other sees that and removes it. Seldom, on a busy machine; operators that did not look made eight.
 */
const MADE_AGAIN = 3;

let server: ApiServer;
let client: KubeClient;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startApiServer();
  client = await connectKube({ kubeconfig: server.kubeconfig, clock: systemClock });
  await installCrds(client);
}, 3 * MINUTE);
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  await client?.close();
  await server?.stop();
}, MINUTE);

const source = (version: number): string => `export default () => "version ${version}";`;
const isWrite = ({ kind, path }: ProxiedRequest): boolean => kind === 'write' && !/\/leases(\/|$)/.test(path);

/** Operators over the same objects, each with a proxy and with a lease of its own. */
async function begin(
  name: string,
  count: number,
): Promise<{ world: ClusterWorld; proxies: FaultProxy[]; operators: Program[] }> {
  const world = await ClusterWorld.create(client, name);
  ends.push(() => world.stop());
  await world.startBuilder();
  const first = await world.startOperator(server.kubeconfig);
  await world.startManager(server.kubeconfig);
  first.kill('SIGTERM');
  await first.ended;
  const pods = new PlayedPods(world);
  ends.push(() => pods.stop());
  const proxies = await Promise.all(Array.from({ length: count }, () => startFaultProxy(server)));
  ends.push(...proxies.map((proxy) => () => proxy.stop()));
  for (const proxy of proxies) proxy.inject(ownLeases());
  const operators = await Promise.all(proxies.map((proxy) => world.startOperator(proxy.kubeconfig)));
  await eventually(() =>
    expect(operators.map((operator) => operator.reported('leads'))).toEqual(operators.map(() => true)),
  );
  return { world, proxies, operators };
}

/** Every Deployment there ever was, by name, from now on. */
function recordDeployments(world: ClusterWorld): string[] {
  const seen: string[] = [];
  const stopping = new AbortController();
  const path = `/apis/apps/v1/namespaces/${world.namespace}/deployments`;
  const recorded = (async () => {
    for await (const { type, object } of client.watch({ path, signal: stopping.signal, timeoutSeconds: 600 })) {
      if (type === 'ADDED') seen.push((object as KubeItem).metadata.name);
    }
  })();
  ends.push(async () => {
    stopping.abort();
    await recorded;
  });
  return seen;
}

/** Each function is at the newest there is, and nothing older of it runs. */
async function untilInSync(world: ClusterWorld): Promise<void> {
  await eventually(async () => {
    const functions = await Promise.all(FUNCTIONS.map((name) => world.fn(name)));
    for (const { status } of functions)
      expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
    const running = (await world.deployments()).map(({ metadata }) => metadata.name);
    expect(running.sort()).toEqual(functions.map(({ status }) => status?.['activeWorkload']).sort());
  }, IN_SYNC_MS);
}

async function change(world: ClusterWorld, at: number): Promise<void> {
  const name = FUNCTIONS[Math.floor(at / 2) % 2] ?? '';
  if (at % 2 === 0) await world.upload(name, 'main.ts', source(at));
  else {
    const body = { spec: { resources: { memoryMiB: 128 + at } } };
    await client.request({
      method: 'PATCH',
      path: world.objects('functions', name),
      contentType: 'application/merge-patch+json',
      body,
    });
  }
}

/**
 * Deploys two functions and changes them; some changes come while the one before is under way.
 * @returns all that is there then.
 */
async function live({ world, proxies }: { world: ClusterWorld; proxies: FaultProxy[] }): Promise<object> {
  for (const name of FUNCTIONS) {
    await world.upload(name, 'main.ts', source(-1));
    await world.apply('Function', name, { handler: `${name}/main.ts`, methods: ['GET'], route: `/${name}` });
  }
  await untilInSync(world);
  for (let at = 0; at < CHANGES; at += 1) {
    await change(world, at);
    if (at % 3 === 2) await untilInSync(world);
  }
  await eventually(async () => {
    await untilInSync(world);
    const last = Math.max(...proxies.flatMap(({ requests }) => requests.filter(isWrite).map((request) => request.at)));
    expect(performance.now() - last).toBeGreaterThan(QUIET_MS);
  }, IN_SYNC_MS);
  return finalState(world);
}

/** Without times, uids, and which of the changes between ever answered calls. */
async function finalState(world: ClusterWorld): Promise<object> {
  const functions = await Promise.all(
    FUNCTIONS.map(async (name) => {
      const { status = {} } = await world.fn(name);
      const conditions = status.conditions?.map(({ type, status: value, reason, message }) => ({
        type,
        value,
        reason,
        message,
      }));
      return { ...status, conditions, revisions: undefined };
    }),
  );
  const owned = await Promise.all(
    [
      ['/apis/apps/v1', 'deployments'],
      ['/api/v1', 'services'],
      ['/api/v1', 'secrets'],
    ].map(async ([group = '', resource = '']) =>
      (await world.list(group, resource)).map((item) => ({ resource, ...item.metadata })),
    ),
  );
  const orphans = owned.flat().filter(({ ownerReferences = [] }) => ownerReferences.length === 0);
  // The Services of workloads that have gone stay for a while, for instances that drain.
  const running = new Set((await world.deployments()).map(({ metadata }) => metadata.name));
  const names = owned
    .flat()
    .filter(({ resource, name }) => resource === 'secrets' || running.has(name))
    .map(({ resource, name }) => `${resource}/${name}`);
  return { functions, orphans, names };
}

describe('two operators that both believe that they lead', () => {
  it(
    'K5: leave what one leaves: one workload a change, no orphan, no duplicate, and quiet',
    async () => {
      const alone = await begin('alone', 1);
      const expected = await live(alone);
      const writesAlone = alone.proxies.flatMap(({ requests }) => requests.filter(isWrite)).length;
      await Promise.all(alone.operators.map((operator) => operator.stop()));

      const both = await begin('both', 2);
      const deployments = recordDeployments(both.world);
      expect(await live(both)).toEqual(expected);
      const distinct = new Set(deployments).size;
      expect(distinct).toBeLessThanOrEqual(FUNCTIONS.length + CHANGES);
      expect(deployments.length - distinct).toBeLessThanOrEqual(MADE_AGAIN);
      const writes = both.proxies.map(({ requests }) => requests.filter(isWrite).length);
      // Both did take part.
      expect(Math.min(...writes)).toBeGreaterThan(CHANGES);
      expect(writes.reduce((sum, count) => sum + count)).toBeLessThan(4 * writesAlone);
      for (const operator of [...alone.operators, ...both.operators]) expect(operator.warnings()).toEqual([]);
    },
    6 * MINUTE,
  );
});

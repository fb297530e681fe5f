import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@wherry/testing/eventually.ts';
import { connectKube, type KubeClient } from '@wherry/kube/client/kube-client.ts';
import { kubeconfigText, startApiServer, type ApiServer } from '@wherry/kube/testing/api-server.ts';
import { startFaultProxy, type FaultProxy } from '@wherry/kube/testing/fault-proxy.ts';
import { installCrds } from '@wherry/kube/testing/install-crds.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { ClusterWorld, conditionText, refusalOf, type KubeItem } from '../testing/cluster-world.ts';
import { FeedClient } from '../testing/feed-client.ts';
import type { Program } from '../testing/program.ts';

const MINUTE = 60_000;
/** What the fault table gives an operator to converge. */
const CONVERGES_MS = 60_000;
/** 10 s, and as long again for a machine that is busy. */
const RESTORED_MS = 20_000;
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
/** Addresses of this machine stand for those of pods. */
const ADDRESSES = { greedy: '127.0.0.7', modest: '127.0.0.8' };
const CONNECTIONS = 1500;
/** Pending ones of an address, and the one that its pod holds. */
const MOST_OPEN = 16 + 1;
/** Where all 1,500 are served, they take 260 MiB; else 15. */
const MOST_MEMORY_MIB = 100;
const FUNCTION = { handler: 'api/main.ts', methods: ['GET'] };

/** Whatever the objects are, an operator renews its lease, records events, and registers as a reader of the encryption keys. */
const NOT_OF_OBJECTS = /\/(leases|events|secrets\/wherry-encryption-keys)(\/|$)/;

let server: ApiServer;
let client: KubeClient;
let proxy: FaultProxy;
let world: ClusterWorld;
let operator: Program;

beforeAll(async () => {
  server = await startApiServer();
  client = await connectKube({ kubeconfig: server.kubeconfig, clock: systemClock });
  await installCrds(client);
  proxy = await startFaultProxy(server);
  world = await ClusterWorld.create(client, 'functions');
  await world.startBuilder();
  // The keys and certificates are there once it serves: a manager can start, and the next operator knows where.
  const first = await world.startOperator(server.kubeconfig);
  await world.startManager(server.kubeconfig);
  first.kill('SIGTERM');
  await first.ended;
  operator = await world.startOperator(proxy.kubeconfig);
  await world.upload('api', 'main.ts', 'export default () => "hello";');
}, 3 * MINUTE);
afterAll(async () => {
  await world?.stop();
  await proxy?.stop();
  await client?.close();
  await server?.stop();
}, MINUTE);

const names = (items: { metadata: { name: string } }[]): string[] => items.map(({ metadata }) => metadata.name);

/** Writes that are no lease and no event. */
function writes(): string[] {
  return proxy.requests
    .filter(({ kind, path }) => kind === 'write' && !NOT_OF_OBJECTS.test(path))
    .map(({ method, path }) => `${method} ${path}`);
}

/** @returns the kubeconfig of a new service account that may do everything. */
async function accountOf(name: string): Promise<string> {
  const path = '/api/v1/namespaces/default/serviceaccounts';
  const subject = { kind: 'ServiceAccount', name, namespace: 'default' };
  await client.request({ method: 'POST', path, body: { apiVersion: 'v1', kind: subject.kind, metadata: { name } } });
  await client.request({
    method: 'POST',
    path: BINDINGS,
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [subject],
    },
  });
  const { status } = await client.request<{ status: { token: string } }>({
    method: 'POST',
    path: `${path}/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { url, ca, folder } = server;
  const file = join(folder, `${name}.kubeconfig`);
  writeFileSync(file, kubeconfigText({ url, ca, token: status.token }));
  return file;
}

/** One Deployment for each of these functions, all of their current generation. */
async function untilDeployed(...functions: string[]): Promise<void> {
  await eventually(async () => {
    const deployed = (await world.deployments()).map(({ metadata }) => metadata.labels?.['wherry.dev/function']);
    expect(deployed.sort()).toEqual([...functions].sort());
    for (const name of functions) expect(conditionText(await world.fn(name), 'CodeReady')).toMatch(/^Unknown Starting/);
  }, CONVERGES_MS);
}

async function deploymentOf(name: string): Promise<KubeItem> {
  await world.apply('Function', name, { ...FUNCTION, route: `/${name}` });
  let found: KubeItem | undefined;
  await eventually(async () => {
    found = (await world.deployments()).find(({ metadata }) => metadata.labels?.['wherry.dev/function'] === name);
    expect(found).toBeDefined();
  }, MINUTE);
  return found as KubeItem;
}

/** What the runtime of a function's pod says, with its own token. */
async function runtimeOf(
  name: keyof typeof ADDRESSES,
): Promise<{ hello: Record<string, string>; localAddress: string }> {
  const deployment = await deploymentOf(name);
  const pod = await world.startPod(deployment, ADDRESSES[name]);
  const { template } = deployment.spec as { template: { metadata: { annotations: Record<string, string> } } };
  const functionUid = template.metadata.annotations['wherry.dev/function-uid'] ?? '';
  const token = await world.entry('secrets', `${name}-feed`, 'token');
  return {
    hello: {
      type: 'hello',
      role: 'runtime',
      instance: pod.name,
      workload: deployment.metadata.name,
      functionUid,
      token,
    },
    localAddress: ADDRESSES[name],
  };
}

function residentMiB(): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${operator.pid}/status`, 'utf8'))?.[1]) / 1024;
}

describe('the operator against a real API server', () => {
  it(
    'brings a function into being: Deployment, Service, token, conditions and events',
    async () => {
      await world.apply('Function', 'hello', { ...FUNCTION, route: '/hello' });
      await untilDeployed('hello');
      const [deployment] = names(await world.deployments());
      expect(names(await world.list('/api/v1', 'services'))).toEqual([deployment]);
      // S7: one of its own would go with the function, before its pods.
      expect(names(await world.list('/apis/networking.k8s.io/v1', 'networkpolicies'))).toEqual([]);
      expect(names(await world.list('/api/v1', 'secrets'))).toEqual(['hello-feed']);
      expect(names(await world.list('/api/v1', 'configmaps'))).toEqual(['wherry-feed-ca']);
      const fn = await world.fn('hello');
      expect(conditionText(fn, 'RouteAccepted')).toBe('True Accepted: ');
      expect(fn.status?.['url']).toBe('http://functions.example/run/hello');
      await eventually(async () => {
        const events = (await world.list('/apis/events.k8s.io/v1', 'events')) as unknown as {
          regarding: { name: string };
          reason: string;
          type: string;
        }[];
        const recorded = events
          .filter(({ regarding }) => regarding.name === 'hello')
          .map(({ reason, type }) => `${type} ${reason}`);
        expect(recorded).toEqual(expect.arrayContaining(['Normal Starting', 'Normal Accepted']));
      });
    },
    2 * MINUTE,
  );

  it(
    'K2: what pods start with is back within 10 s after it was deleted or changed',
    async () => {
      const path = `/api/v1/namespaces/${world.namespace}/configmaps/wherry-feed-ca`;
      const read = (): Promise<string> => world.entry('configmaps', 'wherry-feed-ca', 'ca.crt');
      const ca = await read();
      await client.request({ method: 'DELETE', path });
      await eventually(async () => expect(await read()).toBe(ca), RESTORED_MS);
      const contentType = 'application/merge-patch+json';
      await client.request({ method: 'PATCH', path, contentType, body: { data: { 'ca.crt': 'of another' } } });
      await eventually(async () => expect(await read()).toBe(ca), RESTORED_MS);
    },
    2 * MINUTE,
  );

  it(
    'is not ready while its role does not let it list or watch, and says what',
    async () => {
      const weak = await world.startOperator(await accountOf('weak'));
      const readyz = async (): Promise<string> => {
        const answer = await fetch(`http://127.0.0.1:${String(weak.reported('opsPort'))}/readyz`);
        return `${answer.status} ${(await answer.text()).trim()}`;
      };
      expect(await readyz()).toBe('200 ok');
      await client.request({ method: 'DELETE', path: `${BINDINGS}/weak` });
      // A watch that has begun goes on until it is renewed.
      await eventually(
        async () =>
          expect(await readyz()).toMatch(
            /^503 "system:serviceaccount:default:weak" may not (list|watch) \w+ \(needed to/,
          ),
        CONVERGES_MS,
      );
      await weak.stop();
    },
    3 * MINUTE,
  );

  it(
    'S5: of secrets of one name, and of sources, the oldest is used, whatever an annotation says, and the other says so',
    async () => {
      const backdated = { 'wherry.dev/created-at': '0' };
      const value = { secretKeyRef: { name: 'tokens', key: 'token' } };
      await world.apply('FunctionSecret', 'a-victim', { name: 'TOKEN', scope: 'global', value });
      await world.apply('FunctionSecret', 'rival', { name: 'TOKEN', scope: 'global', value }, backdated);
      await world.apply('CodeSource', 'rival', { displayName: 'api', type: 'manual', enabled: true }, backdated);
      const ready = async (kind: 'FunctionSecret' | 'CodeSource', name: string): Promise<string> =>
        conditionText(await world.get(kind, name), 'Ready');
      await eventually(async () => {
        expect(await ready('FunctionSecret', 'rival')).toMatch(
          /^False DuplicateName: .* the value of a-victim, which is older/,
        );
        expect(await ready('CodeSource', 'rival')).toMatch(/^False DuplicateName: .* the files of api, which is older/);
        expect(await ready('FunctionSecret', 'a-victim')).toMatch(/^False SecretNotFound: /);
        expect(await ready('CodeSource', 'api')).toMatch(/^True Stored: /);
      }, CONVERGES_MS);
    },
    2 * MINUTE,
  );

  it(
    `S8: of ${CONNECTIONS} connections with one function's token few are held, and another function's and a router's are served`,
    async () => {
      const [greedy, modest] = [await runtimeOf('greedy'), await runtimeOf('modest')];
      const clients: FeedClient[] = [];
      const port = Number(operator.reported('feedPort'));
      const ca = await world.entry('configmaps', 'wherry-feed-ca', 'ca.crt');
      const open = (options: { hello: object; localAddress: string; cert?: string; key?: string }): FeedClient => {
        const one = new FeedClient({ port, ca, ...options });
        clients.push(one);
        return one;
      };
      const own = open(greedy);
      expect(await own.firstMessage()).toBe('start');
      // Another pod's address, with a token that is good.
      expect(
        await open({
          ...modest,
          hello: { ...modest.hello, token: greedy.hello['token'], functionUid: greedy.hello['functionUid'] },
        }).firstMessage(),
      ).toBeUndefined();

      const before = residentMiB();
      const greedyOnes = Array.from({ length: CONNECTIONS }, (_, at) =>
        open({ ...greedy, hello: { ...greedy.hello, instance: `greedy-${at}` } }),
      );
      await Promise.all(greedyOnes.map((one) => one.connected()));
      expect(greedyOnes.filter(({ isOpen }) => isOpen).length).toBeLessThanOrEqual(MOST_OPEN);
      expect(residentMiB() - before).toBeLessThan(MOST_MEMORY_MIB);

      expect(await open(modest).firstMessage()).toBe('start');
      const { data = {} } = await world.secret('wherry-router-tls');
      const pem = (entry: string): string => Buffer.from(data[entry] ?? '', 'base64').toString('utf8');
      const router = { type: 'hello', role: 'router', instance: 'router-1', resourceVersion: '0' };
      expect(
        await open({
          hello: router,
          localAddress: '127.0.0.1',
          cert: pem('tls.crt'),
          key: pem('tls.key'),
        }).firstMessage(),
      ).toBe('snapshot');
      // Its pod's own connection is not the price.
      expect(own.isOpen).toBe(true);
      await Promise.all(clients.map((one) => one.close()));
      for (const name of ['greedy', 'modest'])
        await client.request({ method: 'DELETE', path: world.objects('functions', name) });
      await untilDeployed('hello');
    },
    3 * MINUTE,
  );

  it(
    "gives a route to the older of two functions, and names it in the younger's condition",
    async () => {
      await world.apply('Function', 'younger', { ...FUNCTION, route: '/hello' });
      await eventually(async () => {
        expect(conditionText(await world.fn('younger'), 'RouteAccepted')).toMatch(
          /^False RouteConflict: The function hello has the route \/hello/,
        );
      });
      expect(conditionText(await world.fn('hello'), 'RouteAccepted')).toBe('True Accepted: ');
      await client.request({ method: 'DELETE', path: world.objects('functions', 'younger') });
      await untilDeployed('hello');
    },
    2 * MINUTE,
  );

  it(
    'K5: goes on while one object is refused, and others cannot be built or conflict',
    async () => {
      expect(await refusalOf(world.apply('Function', 'wrong', { ...FUNCTION, route: 'no slash' }))).toMatch(
        /^validation_failed: .*spec\.route/,
      );
      await world.apply('Function', 'broken', { handler: 'nowhere/main.ts', methods: ['GET'], route: '/broken' });
      await world.apply('Function', 'second', { ...FUNCTION, route: '/second' });
      await untilDeployed('hello', 'second');
      expect(conditionText(await world.fn('broken'), 'Ready')).toMatch(
        /^False SourceNotFound: There is no code source named nowhere/,
      );
      for (const name of ['broken', 'second'])
        await client.request({ method: 'DELETE', path: world.objects('functions', name) });
      await untilDeployed('hello');
    },
    2 * MINUTE,
  );

  it(
    'K3: writes nothing for objects that have not changed, not even when it begins again',
    async () => {
      operator.kill('SIGTERM');
      expect(await operator.ended).toBe(0);
      proxy.requests.length = 0;
      operator = await world.startOperator(proxy.kubeconfig);
      // What comes after them in every queue is done: so all that was to be done for the others is done too.
      await world.apply('Function', 'last', { ...FUNCTION, route: '/last' });
      await untilDeployed('hello', 'last');
      expect(writes().filter((write) => !write.includes('last'))).toEqual([]);
      await client.request({ method: 'DELETE', path: world.objects('functions', 'last') });
      await untilDeployed('hello');
    },
    2 * MINUTE,
  );

  it(
    'two replicas: one leads; when it is killed the other goes on, and makes nothing twice',
    async () => {
      const other = await world.startOperator(server.kubeconfig);
      expect(other.reported('leads')).toBeUndefined();
      operator.kill('SIGKILL');
      await operator.ended;
      await world.apply('Function', 'survivor', { ...FUNCTION, route: '/survivor' });
      await untilDeployed('hello', 'survivor');
      expect(other.reported('leads')).toBe(true);
      operator = await world.startOperator(proxy.kubeconfig);
      other.kill('SIGTERM');
      expect(await other.ended).toBe(0);
      await client.request({ method: 'DELETE', path: world.objects('functions', 'survivor') });
      await untilDeployed('hello');
    },
    3 * MINUTE,
  );

  it.each(['drop', 'drop-answer'] as const)(
    'killed at each of its writes in turn (%s): what takes over converges, with no orphan and no duplicate',
    async (type) => {
      let writesSeen = 0;
      for (let at = 1; at <= writesSeen + 1; at += 1) {
        writesSeen = Math.max(writesSeen, await liveThrough(`kill-${at}`, { type, at }));
      }
      // Secret, Service, Deployment, statuses; and what goes with the function.
      expect(writesSeen).toBeGreaterThanOrEqual(5);
    },
    8 * MINUTE,
  );
});

/** Makes a function and deletes it; the operator is killed at that write of it. @returns how many writes there were. */
async function liveThrough(name: string, { type, at }: { type: 'drop' | 'drop-answer'; at: number }): Promise<number> {
  let count = 0;
  let replaced: Promise<void> | undefined;
  const remove = proxy.inject({
    when({ kind, path }) {
      if (kind !== 'write' || NOT_OF_OBJECTS.test(path)) return false;
      count += 1;
      if (count !== at) return false;
      replaced = replaceOperator();
      // It is awaited at the end; until then its failure is nobody's.
      replaced.catch(() => undefined);
      return true;
    },
    fault: { type },
    times: 1,
  });
  await world.apply('Function', name, { ...FUNCTION, route: `/${name}` });
  await untilDeployed('hello', name);
  await client.request({ method: 'DELETE', path: world.objects('functions', name) });
  await untilDeployed('hello');
  // No garbage collector runs here: what is not the operator's own to delete must have an owner, by whom it goes.
  for (const [group, kind] of [
    ['/api/v1', 'services'],
    ['/api/v1', 'secrets'],
  ] as const) {
    const orphans = (await world.list(group, kind)).filter(
      ({ metadata }) => (metadata.ownerReferences ?? []).length === 0,
    );
    expect(names(orphans)).toEqual([]);
  }
  await replaced;
  remove();
  return count;
}

/** Kill -9, and another one; the lease is not waited for, which takes fifteen seconds each time. */
async function replaceOperator(): Promise<void> {
  const killed = operator;
  killed.kill('SIGKILL');
  await killed.ended;
  await client.request({
    method: 'DELETE',
    path: `/apis/coordination.k8s.io/v1/namespaces/${world.systemNamespace}/leases/wherry-operator`,
  });
  operator = await world.startOperator(proxy.kubeconfig);
}

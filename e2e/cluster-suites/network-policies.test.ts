import { request } from 'node:http';
import { kindName } from '../cluster/names.ts';
import { portForward } from '../cluster/machine/port-forward.ts';
import { enforcePolicies, type PolicyEnforcement } from '../cluster/network-policies/enforce-policies.ts';
import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { evaluateIn, functionPod, podsOf, programPod, startIdlePod, type PodPlace } from '../testing/cluster-pods.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * What the chart's NetworkPolicies mean in the cluster: connections are tried from everywhere to everywhere. The node's
 * own network enforces none, so they are made rules of its nftables for this suite.
 */

const cluster = testCluster();
const FUNCTIONS = 'wherry-functions';
const SYSTEM = 'wherry-system';
const OUTSIDE = `outside-${Date.now().toString(36)}`;
/** Of the internet, as far as addresses say (TEST-NET-2); the node answers there. */
const INTERNET = '198.51.100.7';
/**
 * Where clouds answer for a machine's identity: Amazon's, Google's and others', Azure's, Oracle's; and networks' own
 * equipment.
 */
const METADATA = ['169.254.169.254', '168.63.129.16', '192.0.0.192', '198.18.0.1'];
const NODE = `${kindName(cluster.name)}-control-plane`;

/** Tries all at once. What a policy refuses is not answered. */
const CONNECT = `
  const { connect } = require('node:net');
  const attempt = ([host, port]) => new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 3000 });
    const end = (result) => (socket.destroy(), resolve(result));
    socket.on('connect', () => end('open')).on('timeout', () => end('closed')).on('error', ({ code }) => end(code));
  });
  Promise.all(JSON.parse(process.argv[1]).map(attempt)).then((all) => console.log(JSON.stringify(all)));`;

const PORTS: Record<string, [host: string, port: number]> = {};
const FROM: Record<string, PodPlace> = {};

/** From where each of these ports is open; from everywhere else it is closed. */
const OPEN: Record<string, string[]> = {
  'router calls': ['outside', 'another pod among the functions'],
  'router metrics': ['outside'],
  'manager API': ['outside'],
  'manager internal': ['operator'],
  'manager metrics': ['outside'],
  'operator feed': ['router', 'function'],
  'operator metrics': ['outside'],
  'builder metrics': ['outside'],
  'installer metrics': ['outside'],
  'function calls': ['router'],
  'function probes': [],
  'API server': ['operator', 'manager', 'outside', 'another pod among the functions'],
  "the node's own API server": ['operator', 'manager', 'outside', 'another pod among the functions'],
  'cluster DNS': ['router', 'manager', 'operator', 'function', 'outside', 'another pod among the functions'],
  "the internet's resolvers": ['outside', 'another pod among the functions'],
  "a resolver that is not the cluster's": ['outside', 'another pod among the functions'],
  ...Object.fromEntries(
    METADATA.map((address) => [
      `metadata ${address}`,
      ['operator', 'manager', 'outside', 'another pod among the functions'],
    ]),
  ),
  // The registry of npm packages may be there; not on this port but 6443 is the API server's too.
  internet: ['operator', 'manager', 'function', 'outside', 'another pod among the functions'],
  'another port of the node': ['outside', 'another pod among the functions'],
};

let platform: Platform;
let api: ApiClient;
let rules: PolicyEnforcement;
/** A function that is to be deleted, and its pod. */
let draining: { id: string; pod: string };

const run = (path: string): Promise<Answer> => send(`${platform.functionUrl}/run${path}`);

/** A call that has begun, and goes on until `end` is called. `end` resolves to all that was answered. */
function openCall(path: string): Promise<{ end(): Promise<string> }> {
  return new Promise((resolve, reject) => {
    const call = request(`${platform.functionUrl}/run${path}`, { method: 'POST' }, (answer) => {
      let text = '';
      const ended = new Promise<void>((done, fail) => answer.on('end', done).on('error', fail));
      // Of a test that fails before its end, nobody waits for it.
      ended.catch(() => undefined);
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      resolve({ end: async () => (call.end(' last'), await ended, text) });
    });
    call.on('error', reject).write('first');
  });
}

/** What comes of connections from everywhere to everywhere: `from → to` of those with a result. */
async function tryAll(): Promise<Record<string, string>> {
  const targets = Object.entries(PORTS);
  const results: Record<string, string> = {};
  const tries = Object.entries(FROM).map(async ([from, place]) => {
    const all = await evaluateIn<string[]>(
      cluster,
      place,
      CONNECT,
      JSON.stringify(targets.map(([, address]) => address)),
    );
    for (const [at, [to]] of targets.entries()) if (!isItself(from, to)) results[`${from} → ${to}`] = all[at]!;
  });
  await Promise.all(tries);
  return results;
}

/** What a pod sends to itself does not leave it. */
const isItself = (from: string, to: string): boolean =>
  (to.startsWith(`${from} `) && from !== 'function') ||
  (from === 'operator' && ['builder metrics', 'installer metrics'].includes(to));

/** The same, as it should be. */
function expected(isOpen: (from: string, to: string) => boolean): Record<string, string> {
  const pairs = Object.keys(FROM).flatMap((from) => Object.keys(PORTS).map((to) => [from, to] as const));
  return Object.fromEntries(
    pairs
      .filter(([from, to]) => !isItself(from, to))
      .map(([from, to]) => [`${from} → ${to}`, isOpen(from, to) ? 'open' : 'closed']),
  );
}

async function serviceAddress(namespace: string, name: string): Promise<string> {
  return cluster.kubectl(['get', 'service', '-n', namespace, name, '-o', 'jsonpath={.spec.clusterIP}']);
}

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  rules = enforcePolicies(cluster);
  for (const address of [INTERNET, ...METADATA])
    await cluster.run('docker', ['exec', NODE, 'ip', 'address', 'replace', `${address}/32`, 'dev', 'lo']);
  await cluster.kubectl(['create', 'namespace', OUTSIDE]);
  await eventually(() => cluster.kubectl(['get', 'serviceaccount', '-n', OUTSIDE, 'default']));
  await api.source('policies', {
    'hello.ts':
      "import dns from 'node:dns/promises'; export default async (c) => c.json(await dns.lookup(c.req.query('name')));",
  });
  const make = (name: string): Promise<string> =>
    api.readyFunction({ name, handler: 'policies/hello.ts', route: `/policies/${name}` });
  const [caller, called] = [await make('caller'), await make('called')];
  await api.source('draining', { 'echo.ts': 'export default (c) => new Response(c.req.raw.body);' });
  const id = await api.readyFunction({
    name: 'draining',
    handler: 'draining/echo.ts',
    route: '/policies/draining',
    methods: ['POST'],
    timeoutSeconds: 300,
  });
  draining = { id, pod: (await functionPod(cluster, id)).metadata.name };
  await startIdlePod(cluster, { namespace: OUTSIDE, pod: 'outsider' });
  await startResolver('resolver', {});
  await startResolver('resolver-of-the-internet', { hostNetwork: true });
  await startIdlePod(cluster, { namespace: FUNCTIONS, pod: 'outsider' }, { app: 'outsider' });
  await findEverything(caller, called);
}, 120_000);

/** Takes connections on port 53; on the node's network too, where the addresses of the internet are. */
async function startResolver(name: string, more: object): Promise<void> {
  const script = "require('node:net').createServer((socket) => socket.end()).listen(53, process.argv[1]);";
  const container = {
    name: 'resolver',
    image: 'wherry/runtime:0.1.0',
    args: ['--eval', script, name === 'resolver' ? '0.0.0.0' : INTERNET],
    securityContext: { runAsUser: 0 },
  };
  const spec = {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    containers: [container],
    ...more,
  };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: OUTSIDE }, spec }));
  await cluster.kubectl(['wait', '-n', OUTSIDE, `pod/${name}`, '--for=condition=Ready', '--timeout=60s']);
}

async function findEverything(caller: string, called: string): Promise<void> {
  const pods = {
    operator: await programPod(cluster, 'operator'),
    router: await programPod(cluster, 'router'),
    manager: await programPod(cluster, 'manager'),
  };
  for (const [name, { metadata }] of Object.entries(pods))
    FROM[name] = { namespace: SYSTEM, pod: metadata.name, container: name };
  FROM.function = { namespace: FUNCTIONS, pod: (await functionPod(cluster, caller)).metadata.name };
  FROM.outside = { namespace: OUTSIDE, pod: 'outsider' };
  FROM['another pod among the functions'] = { namespace: FUNCTIONS, pod: 'outsider' };
  const [router, manager, operator] = [pods.router, pods.manager, pods.operator].map(({ status }) => status.podIP!) as [
    string,
    string,
    string,
  ];
  const other = (await functionPod(cluster, called)).status.podIP!;
  Object.assign(PORTS, {
    // By Service where there is one: what is sent to it is held to the pod's policies.
    'router calls': [await serviceAddress(SYSTEM, 'wherry-router'), 8000],
    'router metrics': [router, 9464],
    'manager API': [await serviceAddress(SYSTEM, 'wherry-manager'), 9000],
    'manager internal': [manager, 9444],
    'manager metrics': [manager, 9464],
    'operator feed': [await serviceAddress(SYSTEM, 'wherry-feed'), 9443],
    'operator metrics': [operator, 9464],
    'builder metrics': [operator, 9465],
    'installer metrics': [operator, 9466],
    'function calls': [other, 8080],
    'function probes': [other, 8081],
    'API server': [await serviceAddress('default', 'kubernetes'), 443],
    "the node's own API server": [cluster.node, 6443],
    'cluster DNS': [await serviceAddress('kube-system', 'kube-dns'), 53],
    "the internet's resolvers": [INTERNET, 53],
    "a resolver that is not the cluster's": [
      (await podsOf(cluster, OUTSIDE)).find(({ metadata }) => metadata.name === 'resolver')!.status.podIP!,
      53,
    ],
    ...Object.fromEntries(METADATA.map((address) => [`metadata ${address}`, [address, 6443]])),
    internet: [INTERNET, 6443],
    'another port of the node': [cluster.node, 10250],
  });
}

afterAll(async () => {
  await rules?.remove();
  for (const address of [INTERNET, ...METADATA])
    await cluster.run('docker', ['exec', NODE, 'ip', 'address', 'delete', `${address}/32`, 'dev', 'lo']);
  await cluster.kubectl(['delete', 'namespace', OUTSIDE, '--wait=false', '--ignore-not-found']);
  await cluster.kubectl(['delete', 'pod', '-n', FUNCTIONS, 'outsider', '--wait=false', '--ignore-not-found']);
  await platform?.dispose();
}, 30_000);

describe('the NetworkPolicies in the cluster', () => {
  it('S7: are those of the three programs and one for all functions, and each of them is tried', async () => {
    const names = async (namespace: string): Promise<string[]> =>
      (await cluster.kubectl(['get', 'networkpolicies', '-n', namespace, '-o', 'name'])).trim().split('\n').sort();
    expect(await names(SYSTEM)).toEqual(
      ['manager', 'operator', 'router'].map((name) => `networkpolicy.networking.k8s.io/wherry-${name}`),
    );
    expect(await names(FUNCTIONS)).toEqual(['networkpolicy.networking.k8s.io/wherry-functions']);
    expect(Object.keys(OPEN)).toEqual(Object.keys(PORTS));
  });

  it('without policies: everybody reaches everything, so that a refusal later is theirs', async () => {
    expect(await tryAll()).toEqual(expected(() => true));
  });

  it('S7: enforced: pods can open the connections in the guide, and no others', async () => {
    await rules.refresh();
    expect(await tryAll()).toEqual(expected((from, to) => OPEN[to]!.includes(from)));
  });

  it('enforced: names are resolved in a function, of the cluster and none of what is not there', async () => {
    expect((await run('/policies/caller?name=wherry-feed.wherry-system.svc')).body).toMatchObject({ family: 4 });
    expect((await run('/policies/caller?name=nowhere.invalid')).status).toBe(500);
  });

  it('S7: enforced: a function that is deleted is held to them until its last call has ended', async () => {
    const call = await openCall('/policies/draining');
    await cluster.kubectl(['delete', 'fn', '-n', FUNCTIONS, draining.id, '--wait']);
    // The garbage collector has been there: what belongs to the function alone is gone.
    await eventually(async () =>
      expect(
        await cluster.kubectl([
          'get',
          'services',
          '-n',
          FUNCTIONS,
          '-l',
          `wherry.dev/function=${draining.id}`,
          '-o',
          'name',
        ]),
      ).toBe(''),
    );
    expect((await functionPod(cluster, draining.id)).metadata).toMatchObject({
      name: draining.pod,
      deletionTimestamp: expect.any(String),
    });
    await rules.refresh();
    const from = { namespace: FUNCTIONS, pod: draining.pod };
    const targets = [
      'API server',
      'manager API',
      "the internet's resolvers",
      'function calls',
      'cluster DNS',
      'internet',
    ];
    const results = await evaluateIn<string[]>(
      cluster,
      from,
      CONNECT,
      JSON.stringify(targets.map((name) => PORTS[name])),
    );
    expect(results).toEqual(['closed', 'closed', 'closed', 'closed', 'open', 'open']);
    expect(await call.end()).toBe('first last');
  }, 60_000);

  it('enforced: a function is made, answers, writes its log, and a new version takes its place', async () => {
    // From outside of the cluster nobody reaches the management port now; a person takes this way, as the guide says.
    const way = await portForward(cluster.start, { namespace: SYSTEM, name: 'wherry-manager', port: 9000 });
    const here = await cluster.forward({ host: '127.0.0.1', port: way.port });
    try {
      await makeAndChange(new ApiClient(here.url, platform.managementKey));
    } finally {
      await here.close();
      await way.close();
    }
  }, 40_000);

  async function makeAndChange(inside: ApiClient): Promise<void> {
    await expect(
      send(`${platform.managementUrl}/api/functions`, { signal: AbortSignal.timeout(2000) }),
    ).rejects.toThrow('timeout');
    const sourceId = await inside.source('enforced', {
      'hello.ts': "export default (c) => { console.log('said so'); return c.text('one'); };",
    });
    const id = await inside.function({ name: 'enforced', handler: 'enforced/hello.ts', route: '/enforced' });
    const answers = (text: string): Promise<void> =>
      eventually(async () => {
        // Its pods are new to the rules, as they are to an agent.
        await rules.refresh();
        expect((await run('/enforced')).text).toBe(text);
      });
    await answers('one');
    await inside.upload(sourceId, 'hello.ts', "export default (c) => c.text('two');");
    await answers('two');
    await eventually(async () =>
      expect((await inside.expect('GET', `/api/logs?functionId=${id}`)).text).toContain('said so'),
    );
  }

  it('taken away again: everybody reaches everything', async () => {
    await rules.remove();
    expect(await tryAll()).toEqual(expected(() => true));
  });
});

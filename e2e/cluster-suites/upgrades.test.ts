import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { RELEASE, SYSTEM_NAMESPACE } from '../cluster/names.ts';
import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { ClusterHands, pause } from '../testing/cluster-hands.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';
import { SteadyLoad, type LoadReport, type Outcome } from '../testing/steady-load.ts';
import { root } from '../tooling/run-command.ts';

/*
 * The release: upgraded with other values and another CRD, gone and installed again over the same objects, and with two
 * operators of which the leading one is killed. Nothing is lost, and where the chart promises it, no call fails.
 */

const FUNCTIONS = 'wherry-functions';
const CHART = path.join(root, 'charts/wherry');
const OPERATOR = 'wherry-operator';
/** A leader that is killed holds its lease for 15 s more, and others look every 2 s. */
const TAKEN_OVER_MS = 20_000;

interface CustomResource {
  kind: string;
  metadata: { name: string; uid: string };
  spec: unknown;
}
interface Schema {
  properties: Record<string, Schema | object>;
}
interface FunctionCrd {
  spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
}

const SECRET = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'upgraded-token', namespace: FUNCTIONS },
  stringData: { token: 's3cret-token' },
};
const functionSecret = (functionRef: string): object => ({
  apiVersion: 'wherry.dev/v1alpha1',
  kind: 'FunctionSecret',
  metadata: { name: 'upgraded-token', namespace: FUNCTIONS },
  spec: {
    name: 'token',
    scope: 'function',
    function: functionRef,
    value: { secretKeyRef: { name: 'upgraded-token', key: 'token' } },
  },
});

const cluster = testCluster();
const hands = new ClusterHands(cluster);
let platform: Platform;
let api: ApiClient;
let key: string;
let sourceId: string;
let functionId: string;
let folder: string;
/** The values that the release had when this suite began. */
let values: Record<string, unknown>;
const running = new Set<SteadyLoad>();

const codeOf = (word: string): string => `
import { tail } from './tail.js';
export default async (c, ctx) => {
  console.log('said ${word}');
  return c.text('${word} ' + tail + ' ' + (await ctx.getSecret('token')) + ' ' + (await c.req.arrayBuffer()).byteLength);
};`;
const call = (): ReturnType<typeof send> =>
  send(`${platform.functionUrl}/run/upgraded`, { headers: { 'x-api-key': key } });
const answers = async (word: string, limitMs?: number): Promise<void> =>
  eventually(async () => expect((await call()).text).toBe(`${word} tail s3cret-token 0`), limitMs);
const wholly = ({ status, text, posted }: Outcome): string | undefined =>
  status === 200 && new RegExp(`^v\\d+ tail s3cret-token ${posted}$`).test(text)
    ? undefined
    : `${status} ${text.slice(0, 200)}`;
const load = (): SteadyLoad => {
  const calls = new SteadyLoad({
    url: `${platform.functionUrl}/run/upgraded`,
    fault: wholly,
    headers: { 'x-api-key': key },
  });
  running.add(calls);
  return calls;
};

function say(
  what: string,
  { calls, posts, failures, longestGapMs }: LoadReport,
  measured: Record<string, number> = {},
): void {
  const timings = Object.entries(measured).map(([name, ms]) => `, ${name} ${(ms / 1000).toFixed(1)} s`);
  process.stdout.write(
    `${what}: ${calls} calls (${posts} of 1 MiB), ${failures.length} failed, longest gap ${longestGapMs} ms${timings.join('')}\n${failures
      .slice(0, 20)
      .map((failure) => `  ${failure}\n`)
      .join('')}`,
  );
}

/** `helm upgrade --install` with these values alone. @returns how long it took, in milliseconds */
async function helm(chart: string, wanted: object): Promise<number> {
  const began = Date.now();
  const where = [
    '--namespace',
    SYSTEM_NAMESPACE,
    '--create-namespace',
    '--reset-values',
    '--values',
    '-',
    '--wait',
    '--timeout',
    '3m',
  ];
  await cluster.helm(['upgrade', '--install', RELEASE, chart, ...where], { input: JSON.stringify(wanted) });
  return Date.now() - began;
}

/** All objects of the six kinds: who they are, and what they want. */
async function objects(): Promise<CustomResource[]> {
  const { items } = JSON.parse(await cluster.kubectl(['get', 'wherry', '-n', FUNCTIONS, '-o', 'json'])) as {
    items: CustomResource[];
  };
  const all = items.map(({ kind, metadata: { name, uid }, spec }) => ({ kind, metadata: { name, uid }, spec }));
  return all.sort((a, b) => `${a.kind}/${a.metadata.name}`.localeCompare(`${b.kind}/${b.metadata.name}`));
}

/** The function's pods: their uids, and how often their containers started again. */
const pods = (): Promise<string> =>
  cluster.kubectl([
    'get',
    'pods',
    '-n',
    FUNCTIONS,
    '-l',
    `wherry.dev/function=${functionId}`,
    '-o',
    'jsonpath={.items[*].metadata.uid} {.items[*].status.containerStatuses[*].restartCount}',
  ]);
const crd = async (): Promise<FunctionCrd> =>
  JSON.parse(await cluster.kubectl(['get', 'crd', 'functions.wherry.dev', '-o', 'json'])) as FunctionCrd;
const specOf = (definition: FunctionCrd): Schema =>
  definition.spec.versions[0]!.schema.openAPIV3Schema.properties['spec'] as Schema;

/** A copy of the chart whose Function may have `spec.note`. */
async function chartWithNote(): Promise<string> {
  const copy = path.join(folder, 'wherry');
  await cp(CHART, copy, { recursive: true });
  const file = path.join(copy, 'files/crds/functions.wherry.dev.yaml');
  const definition = parse(await readFile(file, 'utf8')) as FunctionCrd;
  specOf(definition).properties['note'] = { type: 'string', maxLength: 100 };
  await writeFile(file, stringify(definition));
  return copy;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-upgrade-'));
  values = JSON.parse(
    await cluster.helm(['get', 'values', RELEASE, '--namespace', SYSTEM_NAMESPACE, '-o', 'json']),
  ) as Record<string, unknown>;
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  const { groupId, value } = await api.groupWithKey('upgraded-callers');
  key = value;
  sourceId = await api.source('upgraded', { 'answer.js': codeOf('v1'), 'tail.js': "export const tail = 'tail';" });
  const definition = {
    name: 'upgraded',
    handler: 'upgraded/answer.js',
    route: '/upgraded',
    methods: ['GET', 'POST'],
    keys: [groupId],
  };
  functionId = await api.readyFunction(definition);
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [SECRET, functionSecret(functionId)] }));
  await answers('v1');
}, 60_000);

// A test that failed half-way leaves the release as it was.
afterEach(async () => {
  await Promise.all([...running].map((calls) => calls.stop()));
  running.clear();
  const now = await cluster.run('helm', ['get', 'values', RELEASE, '--namespace', SYSTEM_NAMESPACE, '-o', 'json']);
  const isAsBefore = now.code === 0 && JSON.stringify(JSON.parse(now.stdout)) === JSON.stringify(values);
  if (!isAsBefore || 'note' in specOf(await crd()).properties) await helm(CHART, values);
  await hands.scaleAll({ 'wherry-operator': 1, 'wherry-manager': 1, 'wherry-router': 2 });
}, 60_000);

afterAll(async () => {
  await platform?.dispose();
  await cluster.kubectl(['delete', 'functionsecret,secret', '-n', FUNCTIONS, 'upgraded-token', '--ignore-not-found']);
  await rm(folder, { recursive: true, force: true });
}, 30_000);

describe('helm upgrade', () => {
  it('with other values and another CRD, and back: nothing is lost, and no call fails', async () => {
    const before = await objects();
    const calls = load();
    const chart = await chartWithNote();
    // All programs start again, and all pods of functions get another template.
    const changed = { ...values, logLevel: 'warn', functions: { lameDuckSeconds: 4 } };
    const firstPods = await pods();
    const upgradedMs = await helm(chart, changed);
    await eventually(async () => {
      expect(await pods()).not.toContain(firstPods.split(' ')[0]);
      await pause(300);
    });
    const upgraded = calls.report;
    expect(await objects()).toEqual(before);
    expect(specOf(await crd()).properties).toHaveProperty('note');
    // An object of the newer kind does the programs, which know nothing of it, no harm.
    await cluster.kubectl([
      'patch',
      'function',
      '-n',
      FUNCTIONS,
      functionId,
      '--type=merge',
      '-p',
      '{"spec":{"note":"of the newer kind"}}',
    ]);
    await api.functionWhen(functionId, ({ status }) => status.ready === true);
    await api.upload(sourceId, 'answer.js', codeOf('v2'));
    await answers('v2');
    await cluster.kubectl([
      'patch',
      'function',
      '-n',
      FUNCTIONS,
      functionId,
      '--type=merge',
      '-p',
      '{"spec":{"note":null}}',
    ]);
    const withoutNote = await objects();

    const backMs = await helm(CHART, values);
    expect(specOf(await crd()).properties).not.toHaveProperty('note');
    expect(await objects()).toEqual(withoutNote);
    await api.upload(sourceId, 'answer.js', codeOf('v3'));
    await answers('v3');
    const report = await calls.stop();
    say('helm upgrade', upgraded, { 'it took': upgradedMs });
    say('and back', report, { 'it took': backMs });
    expect(report.failures).toEqual([]);
  }, 60_000);
});

describe('helm uninstall, and install again', () => {
  it('loses no object, key, secret, file or log, and starts no function again', async () => {
    await api.upload(sourceId, 'answer.js', codeOf('v4'));
    await answers('v4');
    await api.functionWhen(functionId, ({ status }) => status.ready === true && status.replicas === 1);
    await eventually(async () => {
      // The pod of the revision before is gone.
      expect((await pods()).trim().split(' ')).toHaveLength(2);
      await pause(300);
    });
    const [requestId, [objectsBefore, podsBefore]] = [
      (await call()).headers.get('x-request-id'),
      await Promise.all([objects(), pods()]),
    ];
    const logged = async (): Promise<string[]> => {
      const { logs } = (await api.expect('GET', `/api/logs?requestId=${requestId}`)).body.data as {
        logs: { message: string }[];
      };
      return logs.map(({ message }) => message);
    };
    await eventually(async () => expect(await logged()).toContain('said v4'));

    const began = Date.now();
    await cluster.helm(['uninstall', RELEASE, '--namespace', SYSTEM_NAMESPACE, '--wait', '--timeout', '2m']);
    await hands.podCount('operator', 0);
    await hands.podCount('router', 0);
    const goneMs = Date.now() - began;
    expect(await objects()).toEqual(objectsBefore);
    expect(await pods()).toBe(podsBefore);

    const installed = Date.now();
    const helmMs = await helm(CHART, values);
    await answers('v4');
    const servesMs = Date.now() - installed;
    expect(await objects()).toEqual(objectsBefore);
    expect(await pods()).toBe(podsBefore);
    expect(await logged()).toContain('said v4');
    // The other file of the source is still there, or this would not build.
    await eventually(() => api.upload(sourceId, 'answer.js', codeOf('v5')));
    await answers('v5');
    process.stdout.write(
      `helm uninstall took ${(goneMs / 1000).toFixed(1)} s, helm install ${(helmMs / 1000).toFixed(1)} s; calls are answered ${(servesMs / 1000).toFixed(1)} s after its start\n`,
    );
  }, 60_000);
});

describe('two operators', () => {
  const holder = (): Promise<string> =>
    cluster.kubectl(['get', 'lease', '-n', SYSTEM_NAMESPACE, OPERATOR, '-o', 'jsonpath={.spec.holderIdentity}']);

  it('when the leading one is killed the other leads, and each change makes one workload', async () => {
    await hands.scale(OPERATOR, 2);
    const seen = new Set<string>();
    const watch = cluster.start(
      'kubectl',
      ['get', 'deployments', '-n', FUNCTIONS, '-l', `wherry.dev/function=${functionId}`, '-w', '-o', 'name'],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    watch.stdout?.setEncoding('utf8').on('data', (text: string) => {
      for (const name of text.split('\n').filter(Boolean)) seen.add(name);
    });
    try {
      await eventually(() => expect(seen.size).toBeGreaterThan(0));
      const before = seen.size;
      const calls = load();
      await api.upload(sourceId, 'answer.js', codeOf('v10'));
      await answers('v10');
      const leader = await holder();
      const [pod = ''] = (await podNames()).filter((name) => leader.startsWith(name));
      const changed = api.upload(sourceId, 'answer.js', codeOf('v11'));
      await hands.killProcess(SYSTEM_NAMESPACE, pod, 'operator');
      const [killed, killedAt] = [machineTime(), Date.now()];
      await eventually(async () => {
        expect(await holder()).not.toBe(leader);
        await pause(100);
      }, TAKEN_OVER_MS + 5000);
      const takenOverMs = Math.round(machineTime() - killed);
      await changed;
      await answers('v11');
      const changedMs = Date.now() - killedAt;
      for (const word of ['v12', 'v13']) {
        await api.upload(sourceId, 'answer.js', codeOf(word));
        await answers(word);
      }
      const report = await calls.stop();
      say('the leading operator killed', report, {
        'another leads after': takenOverMs,
        'the change of that moment active after': changedMs,
      });
      expect(report.failures).toEqual([]);
      expect(takenOverMs).toBeLessThan(TAKEN_OVER_MS);
      // Four edits.
      expect(seen.size - before).toBe(4);
    } finally {
      watch.kill('SIGKILL');
    }
  }, 60_000);

  async function podNames(): Promise<string[]> {
    const names = await cluster.kubectl([
      'get',
      'pods',
      '-n',
      SYSTEM_NAMESPACE,
      '-l',
      'app.kubernetes.io/component=operator',
      '-o',
      'name',
    ]);
    return names
      .split('\n')
      .filter(Boolean)
      .map((name) => name.replace('pod/', ''));
  }
});

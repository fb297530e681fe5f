import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { ClusterHands, pause } from '../testing/cluster-hands.ts';
import { PlainServer } from '../testing/plain-server.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';
import { median, SteadyLoad, type LoadReport, type Outcome } from '../testing/steady-load.ts';

/*
 * A steady load of calls, on connections that are kept alive and with bodies of 1 MiB, while what serves them is
 * changed, restarted, stopped and killed. Whatever fails is counted, and no call is repeated.
 */

const FUNCTIONS = 'wherry-functions';
/** A program of ours stays stopped for so long: past every lease, heartbeat and deadline of ours, 30 s at most. */
const PROGRAM_AWAY_MS = 45_000;
/** And Kubernetes' API server. */
const API_AWAY_MS = 60_000;
/** By then all is as it should be, after what was away is back. */
const CONVERGED_MS = 30_000;
/**
 * A pod needs Kubernetes' own controllers and scheduler, which lost their leases: those run out first, and then begin
 * again.
 */
const LEASES_MS = 20_000;
/** A call through Wherry's programs may take so much longer than one to a plain server, with the API server away. */
const SLOWER_MS = 100;
/** And no call at all by so much longer, then or when it is back: one that waits for Kubernetes takes seconds. */
const WAITED_MS = 300;
/** An edit may be active so much later than one of a plain Deployment, which takes Kubernetes' own controllers too. */
const LATER_MS = 10_000;
/** Within this a write is refused, with the API server away. */
const REFUSED_MS = 5000;

const cluster = testCluster();
const hands = new ClusterHands(cluster);
let platform: Platform;
let plain: PlainServer | undefined;
let api: ApiClient;
let key: string;
let sourceId: string;
let functionId: string;
let version = 0;

const definition = {
  name: 'steady',
  handler: 'steady/answer.js',
  route: '/steady',
  methods: ['GET', 'POST'],
  resources: { memoryMiB: 128 },
  keys: [] as string[],
};
/** Two files: an answer of both is wholly of one revision when both say the same. */
const codeOf = (word: string): FormData => {
  const form = new FormData();
  const handler = `import { b } from './b.js'; export default async (c) => c.text('${word} ' + b + ' ' + (await c.req.arrayBuffer()).byteLength);`;
  form.append('file', new Blob([handler]), 'answer.js');
  form.append('file', new Blob([`export const b = '${word}';`]), 'b.js');
  return form;
};
const upload = async (): Promise<string> => {
  const word = `v${++version}`;
  await api.expect('PUT', `/api/sources/${sourceId}/tree`, undefined, { body: codeOf(word) });
  return word;
};
const call = (value = key, path = '/steady'): ReturnType<typeof send> =>
  send(`${platform.functionUrl}/run${path}`, { headers: { 'x-api-key': value } });
/** @returns milliseconds until calls are answered so */
const answers = async (text: string, limitMs?: number): Promise<number> => {
  const began = Date.now();
  await eventually(async () => expect((await call()).text).toBe(text), limitMs);
  return Date.now() - began;
};
const wholly = ({ status, text, posted }: Outcome): string | undefined =>
  status === 200 && new RegExp(`^(v\\d+) \\1 ${posted}$`).test(text) ? undefined : `${status} ${text.slice(0, 200)}`;
const running = new Set<SteadyLoad>();
const loadOf = (url: string): SteadyLoad => {
  const calls = new SteadyLoad({ url, fault: wholly, headers: { 'x-api-key': key } });
  running.add(calls);
  return calls;
};
const load = (path = '/steady'): SteadyLoad => loadOf(`${platform.functionUrl}/run${path}`);

function say(what: string, report: LoadReport, measured: Record<string, number> = {}): void {
  const timings = Object.entries(measured).map(([name, ms]) => `, ${name} ${(ms / 1000).toFixed(1)} s`);
  const { calls, posts, failures, longestGapMs, slowestMs, slowestInTurn } = report;
  process.stdout.write(
    `${what}: ${calls} calls (${posts} of 1 MiB), ${failures.length} failed, slowest ${slowestMs} ms, in each 5 s ${median(slowestInTurn)} ms of an idle machine, longest gap ${longestGapMs} ms${timings.join('')}\n${failures
      .slice(0, 20)
      .map((failure) => `  ${failure}\n`)
      .join('')}`,
  );
}

/** The pods of a function, those on their way out included. */
async function podsOf(id: string): Promise<string[]> {
  const names = await cluster.kubectl([
    'get',
    'pods',
    '-n',
    FUNCTIONS,
    '-l',
    `wherry.dev/function=${id}`,
    '-o',
    'name',
  ]);
  const pods = names
    .split('\n')
    .filter(Boolean)
    .map((name) => name.replace('pod/', ''));
  if (pods.length === 0) throw new Error(`the function ${id} has no pods`);
  return pods;
}

/** A server of Kubernetes alone, which has of the node what a function's pod has. */
async function plainServer(): Promise<{ server: PlainServer; url: string }> {
  const [pod = ''] = await podsOf(functionId);
  const { containers } = JSON.parse(
    await cluster.kubectl(['get', 'pod', '-n', FUNCTIONS, pod, '-o', 'jsonpath={.spec}']),
  );
  const { image, resources } = containers.find(({ name }: { name: string }) => name === 'function');
  const server = (plain = new PlainServer(cluster, { image, resources }));
  return { server, url: await server.start('v1') };
}

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  const { groupId, value } = await api.groupWithKey('steady-callers');
  key = value;
  sourceId = await api.source('steady');
  await upload();
  definition.keys.push(groupId);
  functionId = await api.readyFunction(definition);
  await answers('v1 v1 0');
}, 60_000);

// A test that failed half-way leaves nothing running, and nothing stopped.
afterEach(async () => {
  await Promise.all([...running].map((calls) => calls.stop()));
  running.clear();
  await plain?.dispose();
  plain = undefined;
  await hands.scaleAll({ 'wherry-operator': 1, 'wherry-manager': 1, 'wherry-router': 2 });
}, 30_000);

afterAll(() => platform?.dispose(), 30_000);

describe('a function under load', () => {
  it('is edited five times and gets two other templates: no call fails, each answer is wholly old or new', async () => {
    const calls = load();
    const tookMs: number[] = [];
    for (let edit = 0; edit < 5; edit++) {
      const word = await upload();
      tookMs.push(await answers(`${word} ${word} 0`));
    }
    for (const memoryMiB of [160, 128]) {
      const before = await podsOf(functionId);
      const began = Date.now();
      await api.expect('PUT', `/api/functions/${functionId}`, { ...definition, resources: { memoryMiB } });
      await eventually(async () => {
        expect((await podsOf(functionId)).filter((name) => before.includes(name))).toEqual([]);
        await pause(200);
      });
      tookMs.push(Date.now() - began);
    }
    const report = await calls.stop();
    say(
      '5 edits and 2 templates',
      report,
      Object.fromEntries(tookMs.map((ms, index) => [index < 5 ? `edit ${index + 1}` : `template ${index - 4}`, ms])),
    );
    expect(report.failures).toEqual([]);
    expect(report.posts).toBeGreaterThan(20);
  }, 45_000);

  it('loses one of two pods that is deleted, and one that is killed: the first costs nothing, the second no more than what ran on it', async () => {
    const id = await api.readyFunction({
      ...definition,
      name: 'pair',
      route: '/pair',
      scaling: { minReplicas: 2, maxReplicas: 2 },
    });
    await api.functionWhen(id, ({ status }) => status.readyReplicas === 2);
    const calls = load('/pair');
    const [stopped = '', killed = ''] = await podsOf(id);
    await cluster.kubectl(['delete', 'pod', '-n', FUNCTIONS, stopped]);
    expect(await podsOf(id)).not.toContain(stopped);
    const before = calls.report;
    await hands.killProcess(FUNCTIONS, killed, 'function');
    const began = Date.now();
    await eventually(async () => expect((await hands.pod(FUNCTIONS, killed)).restarts).toBe(1));
    await api.functionWhen(id, ({ status }) => status.readyReplicas === 2);
    const backMs = Date.now() - began;
    const report = await calls.stop();
    say('a pod deleted', before);
    say('and one killed', report, { 'both ready again': backMs });
    expect(before.failures).toEqual([]);
    // Three callers, each of whom has one call at a time.
    expect(report.failures.length).toBeLessThanOrEqual(3);
    expect(report.failures.filter((failure) => !failure.includes('502'))).toEqual([]);
    await api.expect('DELETE', `/api/functions/${id}`);
  }, 40_000);
});

describe('Wherry’s own programs, under load', () => {
  it('FT6: are all restarted, one after the other: no call fails', async () => {
    const calls = load();
    const router = await hands.restart('wherry-router');
    const afterRouter = calls.report;
    const operator = await hands.restart('wherry-operator');
    const manager = await hands.restart('wherry-manager');
    const report = await calls.stop();
    say('routers restarted', afterRouter, { restart: router });
    say('operator and manager too', report, { operator, manager });
    expect(report.failures).toEqual([]);
    const word = await upload();
    await answers(`${word} ${word} 0`, CONVERGED_MS);
  }, 60_000);

  it('the operator is away: calls go on, and what changed meanwhile is active soon after', async () => {
    const calls = load();
    await hands.scale('wherry-operator', 0);
    const word = await upload();
    await pause(PROGRAM_AWAY_MS);
    const away = calls.report;
    const began = Date.now();
    await cluster.kubectl(['scale', '-n', 'wherry-system', 'deployment/wherry-operator', '--replicas=1']);
    await answers(`${word} ${word} 0`, CONVERGED_MS);
    const convergedMs = Date.now() - began;
    const report = await calls.stop();
    say('operator away', away);
    say('and back', report, { 'an edit active after': convergedMs });
    expect(report.failures).toEqual([]);
  }, 40_000);

  it('the manager is away: calls go on, and a function’s pod that dies comes back', async () => {
    const calls = load();
    const id = await api.readyFunction({ ...definition, name: 'alone', route: '/alone' });
    await eventually(async () => expect((await call(key, '/alone')).status).toBe(200));
    await hands.scale('wherry-manager', 0);
    const [pod = ''] = await podsOf(id);
    await hands.killProcess(FUNCTIONS, pod, 'function');
    const died = Date.now();
    await eventually(async () => expect((await hands.pod(FUNCTIONS, pod)).restarts).toBe(1));
    await eventually(async () => expect((await call(key, '/alone')).status).toBe(200));
    const restartedMs = Date.now() - died;
    const removed = Date.now();
    await cluster.kubectl(['delete', 'pod', '-n', FUNCTIONS, pod]);
    await eventually(async () => expect((await call(key, '/alone')).status).toBe(200));
    expect(await podsOf(id)).not.toContain(pod);
    const anotherMs = Date.now() - removed;
    await pause(PROGRAM_AWAY_MS - (Date.now() - died));
    const [began, converged] = [Date.now(), machineTime() + CONVERGED_MS];
    await cluster.kubectl(['scale', '-n', 'wherry-system', 'deployment/wherry-manager', '--replicas=1']);
    const word = await eventually(upload, CONVERGED_MS);
    await answers(`${word} ${word} 0`, converged - machineTime());
    const convergedMs = Date.now() - began;
    const report = await calls.stop();
    say('manager away', report, {
      'a killed pod serves after': restartedMs,
      'another in place of a deleted one after': anotherMs,
      'an edit active after': convergedMs,
    });
    expect(report.failures).toEqual([]);
    await api.expect('DELETE', `/api/functions/${id}`);
  }, 40_000);
});

// Only where the node is ours can its API server be stopped.
if (cluster.way !== 'given') {
  describe('Kubernetes’ own API server, under load', () => {
    it('stands still: calls go on as fast as to a plain server, what was revoked stays so, writes are refused in time, and an edit is active soon after a plain Deployment’s', async () => {
      const { groupId, keyId, value: revoked } = await api.groupWithKey('revoked');
      await api.expect('PUT', `/api/functions/${functionId}`, { ...definition, keys: [...definition.keys, groupId] });
      await eventually(async () => expect((await call(revoked)).status).toBe(200));
      await api.expect('PUT', `/api/keys/${keyId}`, { enabled: false });
      await eventually(async () => expect((await call(revoked)).status).toBe(401));

      const { server, url } = await plainServer();
      const calls = load();
      const plainCalls = loadOf(url);
      const thaw = await hands.freezeApiServer();
      const began = Date.now();
      const refusals: number[] = [];
      const opened: number[] = [];
      try {
        while (Date.now() - began < API_AWAY_MS) {
          const since = machineTime();
          const answer = await api.request('PUT', `/api/keys/${keyId}`, { enabled: true });
          expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
          refusals.push(Math.round(machineTime() - since));
          opened.push((await call(revoked)).status);
          // More than twenty wrong keys in a minute would be throttled (R10).
          await pause(4500);
        }
      } finally {
        await thaw();
      }
      const [away, plainAway] = [calls.report, plainCalls.report];
      const [back, machineBack] = [Date.now(), machineTime()];
      const converged = machineBack + CONVERGED_MS;
      await eventually(() => api.expect('PUT', `/api/keys/${keyId}`, { enabled: false }), CONVERGED_MS);
      const writesMs = Date.now() - back;
      opened.push((await call(revoked)).status);
      await api.expect('PUT', `/api/keys/${keyId}`, { enabled: true });
      await eventually(async () => expect((await call(revoked)).status).toBe(200), converged - machineTime());
      const keyMs = machineTime() - machineBack;
      // Both at once: each needs pods, and those the controllers and the scheduler.
      const [edit, plainEdit] = await Promise.all([
        upload()
          .then((word) => answers(`${word} ${word} 0`, CONVERGED_MS + LEASES_MS))
          .then(() => machineTime() - machineBack),
        server
          .change('v2')
          .then(() => eventually(async () => expect((await send(url)).text).toBe('v2 v2 0'), CONVERGED_MS + LEASES_MS))
          .then(() => machineTime() - machineBack),
      ]);
      const report = await calls.stop();
      const plainReport = await plainCalls.stop();
      say('API server away, a plain server', plainAway);
      say('API server away', away, { 'slowest refusal of a write': Math.max(...refusals) });
      say('and back, a plain server', plainReport, { 'an edit active after (of an idle machine)': plainEdit });
      say('and back', report, {
        'writes after': writesMs,
        'a key active after (of an idle machine)': keyMs,
        'an edit active after (of an idle machine)': edit,
        'slowest call (of an idle machine)': Math.max(...report.slowestInTurn),
        'slowest call of the plain server': Math.max(...plainReport.slowestInTurn),
      });
      expect([report.failures, plainAway.failures]).toEqual([[], []]);
      expect(median(away.slowestInTurn)).toBeLessThanOrEqual(median(plainAway.slowestInTurn) + SLOWER_MS);
      expect(Math.max(...report.slowestInTurn)).toBeLessThanOrEqual(Math.max(...plainReport.slowestInTurn) + WAITED_MS);
      expect(edit).toBeLessThanOrEqual(plainEdit + LATER_MS);
      expect(Math.max(...refusals)).toBeLessThan(REFUSED_MS);
      expect(new Set(opened)).toEqual(new Set([401]));
    }, 60_000);
  });
}

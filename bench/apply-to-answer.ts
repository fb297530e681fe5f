/**
 * How long `kubectl apply` of a function takes until its first correct answer, compared with a plain Deployment and
 * Service of the same image on the same node; one at a time, in turns, then 100 at once of each. It brings up a cluster
 * of its own, or takes the one that WHERRY_TEST_CLUSTER names. Run: npm run bench -- apply-to-answer [rounds, 15 when
 * omitted] [at once, 100 when omitted]
 */
import type { Socket } from 'node:net';
import { loadavg } from 'node:os';
import { ApiClient } from '@wherry/e2e/testing/api-client.ts';
import { bringUp } from '@wherry/e2e/cluster/bring-up.ts';
import type { Cluster } from '@wherry/e2e/cluster/cluster.ts';
import { TEST_CLUSTER, testCluster } from '@wherry/e2e/cluster/test-cluster.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
const AT_ONCE = Number(process.argv[3] ?? 100);
const FUNCTIONS = 'wherry-functions';
const SYSTEM = 'wherry-system';
const PLAIN = 'plain';
const IMAGE = 'wherry/runtime:0.1.0';
const DEADLINE_MS = 300_000;
/** For each one that is called at the same time: the calls must not take the resources that they start with. */
const BETWEEN_CALLS_MS = 10;
/** Packets to a Service that its node does not know yet are lost silently. */
const ANSWER_MS = 500;

/** One of the two things that are compared. */
interface Subject {
  name: string;
  namespace: string;
  /** What is applied for one of them. */
  manifest: (name: string) => object[];
  /** What deletes all of them. */
  kinds: string;
  /** Whether it answers as it should. */
  answers: (name: string) => Promise<boolean>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function functionsOf(url: string): Subject {
  return {
    name: 'a function',
    namespace: FUNCTIONS,
    kinds: 'functions.wherry.dev',
    manifest: (name) => [
      {
        apiVersion: 'wherry.dev/v1alpha1',
        kind: 'Function',
        metadata: { name, namespace: FUNCTIONS },
        spec: { handler: 'bench/hello.js', route: `/${name}`, methods: ['GET'] },
      },
    ],
    answers: async (name) => {
      const response = await fetch(`${url}/run/${name}`).catch(() => undefined);
      return (await response?.text()) === 'hello';
    },
  };
}

/** As one would usually write it: no probe, so that it is ready as soon as it runs. */
function plainOnes(cluster: Cluster): Subject {
  const labels = (name: string): object => ({ app: name });
  const code = "require('node:http').createServer((q, s) => s.end('hello')).listen(8080)";
  return {
    name: 'a plain Deployment and Service',
    namespace: PLAIN,
    kinds: 'deployments,services',
    manifest: (name) => [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name, namespace: PLAIN },
        spec: {
          selector: { matchLabels: labels(name) },
          template: {
            metadata: { labels: labels(name) },
            spec: {
              terminationGracePeriodSeconds: 0,
              containers: [
                {
                  name: 'main',
                  image: IMAGE,
                  imagePullPolicy: 'IfNotPresent',
                  command: ['node', '-e', code],
                  ports: [{ containerPort: 8080 }],
                },
              ],
            },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace: PLAIN },
        spec: { selector: labels(name), ports: [{ port: 80, targetPort: 8080 }] },
      },
    ],
    answers: serviceAnswers(cluster),
  };
}

/** Through the Service, at its address in the cluster: all addresses are called at once, and not again. */
function serviceAnswers(cluster: Cluster): Subject['answers'] {
  const hosts = new Map<string, string>();
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    const { items } = JSON.parse(await cluster.kubectl(['get', 'services', '-n', PLAIN, '-o', 'json'])) as {
      items: { metadata: { name: string }; spec: { clusterIP: string } }[];
    };
    for (const { metadata, spec } of items) hosts.set(metadata.name, spec.clusterIP);
    looking = undefined;
  };
  return async (name) => {
    if (!hosts.has(name)) await (looking ??= look());
    const host = hosts.get(name);
    if (host === undefined) return false;
    try {
      return await Promise.race([
        cluster.connect({ host, port: 80 }).then(helloFrom),
        pause(ANSWER_MS).then(() => false),
      ]);
    } catch {
      return false;
    }
  };
}

/** Over a connection of its own: one that a Service refused is not kept. */
async function helloFrom(socket: Socket): Promise<boolean> {
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nHost: plain\r\nConnection: close\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text.includes('hello');
}

/** Milliseconds from `kubectl apply` until all of them have answered. */
async function applied(cluster: Cluster, subject: Subject, names: string[]): Promise<number> {
  const manifest = JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: names.flatMap((name) => subject.manifest(name)),
  });
  const start = performance.now();
  const applying = cluster.apply(manifest);
  await Promise.all([
    applying,
    ...names.map((name) => untilItAnswers(subject, name, { start, pauseMs: BETWEEN_CALLS_MS * names.length })),
  ]);
  return performance.now() - start;
}

async function untilItAnswers(
  subject: Subject,
  name: string,
  { start, pauseMs }: { start: number; pauseMs: number },
): Promise<void> {
  while (!(await subject.answers(name))) {
    if (performance.now() - start > DEADLINE_MS)
      throw new Error(`${subject.name} ${name} did not answer within ${DEADLINE_MS} ms`);
    await pause(pauseMs);
  }
}

async function removed(cluster: Cluster, { kinds, namespace }: Subject): Promise<void> {
  await cluster.kubectl(['delete', kinds, '--all', '-n', namespace, '--wait=true']);
  for (;;) {
    const left = await cluster.kubectl(['get', 'pods', '-n', namespace, '-o', 'name']);
    if (left.trim() === '') return;
    await pause(500);
  }
}

/** MiB resident, by program, from each pod's own metrics. */
async function memory(cluster: Cluster): Promise<string> {
  const pods = (await cluster.kubectl(['get', 'pods', '-n', SYSTEM, '-o', 'name']))
    .trim()
    .split('\n')
    .map((name) => name.replace('pod/', ''));
  const texts = await Promise.all(
    pods.map(async (pod) => {
      const metrics = await cluster.kubectl([
        'get',
        '--raw',
        `/api/v1/namespaces/${SYSTEM}/pods/${pod}:9464/proxy/metrics`,
      ]);
      const bytes = Number(/^(?:wherry_)?process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
      return `${pod} ${Math.round(bytes / 1024 / 1024)} MiB`;
    }),
  );
  return texts.join(', ');
}

async function restarts(cluster: Cluster, { namespace }: Subject): Promise<number> {
  const counts = await cluster.kubectl([
    'get',
    'pods',
    '-n',
    namespace,
    '-o',
    'jsonpath={.items[*].status.containerStatuses[*].restartCount}',
  ]);
  return counts.split(' ').reduce((sum, count) => sum + Number(count), 0);
}

async function open(): Promise<{ cluster: Cluster; close: () => Promise<void> }> {
  if (process.env[TEST_CLUSTER] !== undefined) return { cluster: testCluster(), close: async () => undefined };
  const cluster = await bringUp({ name: 'bench' });
  return { cluster, close: () => cluster.down() };
}

async function main(): Promise<void> {
  const { cluster, close } = await open();
  try {
    const urls = cluster.urls();
    const key = await cluster.kubectl([
      'get',
      'secret',
      '-n',
      SYSTEM,
      'wherry-management-key',
      '-o',
      'jsonpath={.data.key}',
    ]);
    const api = new ApiClient(urls.management, Buffer.from(key, 'base64').toString());
    const source = await api.source('bench', { 'hello.js': "export default (c) => c.text('hello');" });
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: PLAIN } }));
    await compare(cluster, [functionsOf(urls.functions), plainOnes(cluster)]);
    await api.expect('DELETE', `/api/sources/${source}`);
    await cluster.kubectl(['delete', 'namespace', PLAIN, '--wait=false']);
  } finally {
    await close();
  }
}

async function compare(cluster: Cluster, subjects: Subject[]): Promise<void> {
  const times = new Map<Subject, number[]>(subjects.map((subject) => [subject, []]));
  // The first round finds nothing warm and is not counted.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const subject of subjects) {
      const ms = await applied(cluster, subject, [`one-${round}`]);
      if (round > 0) times.get(subject)?.push(ms);
      await removed(cluster, subject);
    }
  }
  console.log(`${ROUNDS} of each in turns, load ${loadavg()[0]?.toFixed(1)}\n`);
  const rows = subjects.map((subject) => {
    const all = times.get(subject) ?? [];
    return [subject.name, rounded(median(all)), rounded(quantile(all, 0.95)), rounded(Math.max(...all))];
  });
  console.log(table([['kubectl apply → first good answer, ms', 'p50', 'p95', 'max'], ...rows]));
  const [ours = [], theirs = []] = [...times.values()];
  console.log(`\nmore for a function, p50: ${rounded(median(ours) - median(theirs))} ms (goal <= 500)\n`);
  if (AT_ONCE > 0) await compareManyAtOnce(cluster, subjects);
}

async function compareManyAtOnce(cluster: Cluster, subjects: Subject[]): Promise<void> {
  const names = Array.from({ length: AT_ONCE }, (_, n) => `many-${n}`);
  const totals: number[] = [];
  for (const subject of subjects) {
    console.log(`before ${AT_ONCE} of ${subject.name}: ${await memory(cluster)}`);
    totals.push(await applied(cluster, subject, names));
    console.log(`${AT_ONCE} at once, all answer: ${subject.name} ${rounded((totals.at(-1) ?? 0) / 1000)} s`);
    console.log(
      `with them: ${await memory(cluster)}; containers that were started again: ${await restarts(cluster, subject)}`,
    );
    await removed(cluster, subject);
  }
  const [ours = 0, theirs = 0] = totals;
  console.log(`ratio ${(ours / theirs).toFixed(2)} (goal <= 1.3)`);
}

await main();

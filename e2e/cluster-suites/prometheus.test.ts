import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse as parseYaml } from 'yaml';
import { mustRun } from '../cluster/command.ts';
import { render } from '../chart/helm.ts';
import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { functionPod, podsOf } from '../testing/cluster-pods.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';
import { startPrometheus, type Prometheus, type ScrapeConfig } from '../testing/prometheus.ts';

/*
 * A real Prometheus scrapes every program by what the chart renders, and knows the metrics that are documented.
 */

const cluster = testCluster();
const SYSTEM = 'wherry-system';
/** What those who go by annotations commonly have. */
const BY_ANNOTATIONS = {
  job_name: 'annotations',
  scrape_interval: '1s',
  kubernetes_sd_configs: [{ role: 'pod', namespaces: { names: [SYSTEM] } }],
  relabel_configs: [
    { source_labels: ['__meta_kubernetes_pod_annotation_prometheus_io_scrape'], regex: 'true', action: 'keep' },
    {
      source_labels: ['__meta_kubernetes_pod_annotation_prometheus_io_path'],
      regex: '(.+)',
      target_label: '__metrics_path__',
    },
    {
      source_labels: ['__address__', '__meta_kubernetes_pod_annotation_prometheus_io_port'],
      regex: '([^:]+)(?::\\d+)?;(\\d+)',
      replacement: '$1:$2',
      target_label: '__address__',
    },
    { source_labels: ['__meta_kubernetes_pod_label_app_kubernetes_io_component'], target_label: 'container' },
  ],
};

/** Of these parts' tables in docs/reference/metrics.md; which program of a cluster they are in. */
const PROGRAMS: Record<string, string> = {
  router: 'router',
  operator: 'operator',
  kube: 'operator',
  builder: 'builder',
  manager: 'manager',
};
/** What a healthy minute does not bring about: of these there is help, and no value. */
const RARE = new Set([
  'wherry_telemetry_dropped_total',
  'wherry_feed_refusals_total',
  'wherry_undecryptable_values',
  'wherry_npm_resolutions_total',
  'wherry_npm_tarballs_total',
  'wherry_log_entries_lost_total',
  'wherry_encryption_rotations_total',
]);

interface Documented {
  name: string;
  program: string;
  type: string;
  labels: string[];
}

let platform: Platform;
let api: ApiClient;
let prometheus: Prometheus;
let documented: Documented[];
let functionId: string;
let measuredKey: string;

const run = (path: string, init?: RequestInit): Promise<Answer> => send(`${platform.functionUrl}/run${path}`, init);

/** The rows of the table that are of a cluster's programs. */
async function readDocumented(): Promise<Documented[]> {
  const text = await readFile(path.join(import.meta.dirname, '../../docs/reference/metrics.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(wherry_\w+)` \| (\w+) \| (\w+) \| (.*?) \|/gm)];
  return rows.flatMap(([, name = '', part = '', type = '', labels = '']) => {
    const program = PROGRAMS[part];
    return program === undefined
      ? []
      : [{ name, program, type, labels: labels === 'none' ? [] : labels.replaceAll('`', '').split(', ') }];
  });
}

async function renderedScrapeConfigs(): Promise<ScrapeConfig[]> {
  const objects = await render('--set', 'monitoring.scrapeConfig.enabled=true', '--set', 'monitoring.interval=1s');
  const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'wherry-scrape-config');
  return (parseYaml((found?.data as Record<string, string>)['wherry.yaml']!) as { scrape_configs: ScrapeConfig[] })
    .scrape_configs;
}

beforeAll(async () => {
  documented = await readDocumented();
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  prometheus = await startPrometheus(cluster, [...(await renderedScrapeConfigs()), BY_ANNOTATIONS]);
  await haveItWork();
}, 60_000);

/** Its value is nowhere: it is reconciled all the same. */
const SECRET = {
  apiVersion: 'wherry.dev/v1alpha1',
  kind: 'FunctionSecret',
  metadata: { name: 'measured', namespace: 'wherry-functions' },
  spec: { name: 'MEASURED', scope: 'global', value: { secretKeyRef: { name: 'measured-nowhere', key: 'value' } } },
};

/** A little of everything that is counted. */
async function haveItWork(): Promise<void> {
  const { groupId, value } = await api.groupWithKey('measured');
  measuredKey = value;
  await api.source('measured', {
    'h.ts': "export default (c) => { if (c.req.query('bad')) process.exit(0); return c.text('x'); };",
    'broken.ts': 'export default (',
  });
  functionId = await api.readyFunction({
    name: 'measured',
    handler: 'measured/h.ts',
    route: '/measured/:what',
    methods: ['GET', 'POST'],
    keys: [groupId],
  });
  const broken = await api.function({ name: 'broken', handler: 'measured/broken.ts', route: '/broken' });
  const key = { headers: { 'x-api-key': value } };
  await eventually(async () => expect((await run('/measured/a', key)).status).toBe(200));
  for (let at = 0; at < 20; at += 1) await run(`/measured/${at}`, key);
  expect((await run('/measured/a')).status).toBe(401);
  // Wrong keys of an earlier suite may have this address throttled still (R10), for a minute.
  const wrong = { headers: { 'x-api-key': 'wrong' } };
  await eventually(async () => expect((await run('/measured/a', wrong)).status).toBe(401), 70_000, 5000);
  expect((await run('/measured/a', { ...key, method: 'PUT' })).status).toBe(405);
  await cluster.apply(JSON.stringify(SECRET));
  await api.functionWhen(broken, ({ status }) => status.reason === 'SyntaxError');
  expect((await run('/measured/a?bad=1', key)).status).toBe(502);
}

afterAll(async () => {
  await cluster.kubectl([
    'delete',
    'functionsecret',
    '-n',
    SECRET.metadata.namespace,
    SECRET.metadata.name,
    '--ignore-not-found',
  ]);
  await prometheus?.stop();
  await platform?.dispose();
}, 30_000);

/** What Prometheus knows, once it knows it. */
const samples = (query: string): Promise<{ metric: Record<string, string>; value: number }[]> =>
  eventually(async () => {
    const found = await prometheus.query(query);
    if (found.length === 0) throw new Error(`Prometheus knows nothing of ${query}`);
    return found;
  });

describe('what the chart renders', () => {
  it('leads a Prometheus to every program, and all of them answer', async () => {
    const pods = await podsOf(cluster, SYSTEM);
    const containers = pods
      .flatMap(({ metadata, spec }) => spec.containers.map(({ name }) => `${metadata.name} ${name}`))
      .sort();
    expect(new Set(containers.map((each) => each.split(' ')[1]))).toEqual(
      new Set(['operator', 'builder', 'installer', 'router', 'manager']),
    );
    await eventually(async () => {
      const targets = (await prometheus.targets()).filter(({ labels }) => labels.job === 'wherry');
      expect(targets.map(({ health, lastError }) => `${health} ${lastError}`.trim())).toEqual(
        containers.map(() => 'up'),
      );
      expect(targets.map(({ labels }) => `${labels.pod} ${labels.container}`).sort()).toEqual(containers);
    });
  });

  it('leads one that goes by annotations to all but builder and installer, as documented', async () => {
    await eventually(async () => {
      const targets = (await prometheus.targets()).filter(({ labels }) => labels.job === 'annotations');
      expect(targets.map(({ health }) => health)).toEqual(targets.map(() => 'up'));
      expect(new Set(targets.map(({ labels }) => labels.container))).toEqual(
        new Set(['operator', 'router', 'manager']),
      );
    });
  });

  it("leads to no function's pod: they serve no metrics", async () => {
    const { status } = await functionPod(cluster, functionId);
    const connect = cluster.connect({ host: status.podIP!, port: 9464 });
    await expect(connect.then((socket) => socket.destroy())).rejects.toThrow(status.podIP);
  });
});

describe('the metrics', () => {
  it('are those that are documented, each with help and its type', async () => {
    await eventually(async () => {
      const known = await prometheus.metadata();
      const types = documented.map(({ name }) => [name, known[name]?.[0]?.type]);
      expect(types).toEqual(documented.map(({ name, type }) => [name, type]));
      for (const { name } of documented) expect([name, known[name]![0]!.help.length > 5]).toEqual([name, true]);
      // And no other.
      const ours = Object.keys(known).filter((name) => name.startsWith('wherry_'));
      expect(ours.sort()).toEqual([...new Set(documented.map(({ name }) => name))].sort());
    });
  });

  it('have values, in the programs that the table names and with the labels that it names', async () => {
    for (const { name, program, type, labels } of documented) {
      if (RARE.has(name)) continue;
      const found = await samples(
        `${type === 'histogram' ? `${name}_count` : name}{job="wherry",container="${program}"}`,
      );
      const ofTheScrape = ['__name__', 'instance', 'job', 'namespace', 'pod', 'container'];
      const own = new Set(
        found.flatMap(({ metric }) => Object.keys(metric).filter((label) => !ofTheScrape.includes(label))),
      );
      expect([name, [...own].sort()]).toEqual([name, [...labels].sort()]);
    }
  });

  it('count calls by pattern and not by path', async () => {
    const calls = await samples(
      'sum by (route, method, code, function_name) (wherry_function_calls_total{job="wherry"})',
    );
    const own = calls.filter(({ metric }) => metric.function_name === functionId);
    expect(new Set(own.map(({ metric }) => metric.route))).toEqual(new Set(['/measured/:what']));
    expect(own.find(({ metric }) => metric.code === '200')?.value).toBeGreaterThanOrEqual(20);
    expect(own.map(({ metric }) => `${metric.method} ${metric.code}`)).toEqual(
      expect.arrayContaining(['GET 200', 'GET 401', 'GET 502']),
    );
  });

  it.each([
    ['sum by (reason) (wherry_auth_rejections_total{job="wherry"})', 'reason', ['missing_api_key', 'invalid_api_key']],
    ['sum by (component) (wherry_invocation_failures_total{job="wherry"})', 'component', ['function']],
    ['wherry_replicas{job="wherry"}', 'state', ['ready', 'starting']],
    ['sum by (result) (wherry_build_total{job="wherry"})', 'result', ['Built', 'SyntaxError']],
    [
      'sum by (controller) (wherry_reconcile_total{job="wherry"})',
      'controller',
      ['function', 'codesource', 'apikey', 'keygroup', 'functionsecret'],
    ],
  ])('%s exposes each %s', async (query, label, values) => {
    await eventually(async () => {
      const found = (await prometheus.query(query)).map(({ metric }) => metric[label]);
      expect(found).toEqual(expect.arrayContaining(values));
    });
  });

  it('say who leads, and how much memory and CPU each program takes', async () => {
    expect((await samples('sum(wherry_leader{job="wherry",container="operator"})'))[0]!.value).toBe(1);
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
    ]) {
      const found = await samples(`${name}{job="wherry"}`);
      expect(new Set(found.map(({ metric }) => metric.container))).toEqual(
        new Set(['operator', 'builder', 'installer', 'router', 'manager']),
      );
    }
  });

  it('have no label that grows with calls: no new series after fifty more, of all kinds', async () => {
    // With a good key: too many bad ones would have later suites' refused.
    const methods = ['PROPFIND', 'REPORT', 'GET', 'POST'];
    const burst = async (from: number): Promise<void> => {
      for (let at = from; at < from + 50; at += 1)
        await run(`/measured/${at}?x=${at}`, {
          method: methods[at % 4]!,
          headers: { 'x-api-key': measuredKey, 'x-request-id': `r-${at}` },
        });
    };
    await burst(0);
    const before = await routersSeries();
    await burst(50);
    const after = await routersSeries();
    expect(after.calls).toBeGreaterThan(before.calls);
    expect([...after.series].filter((each) => !before.series.has(each))).toEqual([]);
    const labels = [...after.series].map((each) => JSON.parse(each) as { route?: string; method?: string });
    const documentedMethods = labels.flatMap(({ route, method }) =>
      route === '/measured/:what' && method !== undefined ? [method] : [],
    );
    // Methods that the function does not take are not exposed by name.
    expect([...new Set(documentedMethods)].sort()).toEqual(['GET', 'POST']);
  });

  it('are as promtool wants them', async () => {
    const [pod] = await podsOf(cluster, SYSTEM, { 'app.kubernetes.io/component': 'router' });
    const { url, close } = await cluster.forward({ host: pod!.status.podIP!, port: 9464 });
    try {
      const { text } = await send(`${url}/metrics`);
      // Those of Node's own are not ours to name.
      const ours = text
        .split('\n')
        .filter((line) => line.includes('wherry_'))
        .join('\n');
      expect(await mustRun('promtool', ['check', 'metrics'], { input: `${ours}\n` })).toBe('');
    } finally {
      await close();
    }
  });
});

/** What the routers together expose, once a whole scrape has come after what was done. */
async function routersSeries(): Promise<{ calls: number; series: Set<string> }> {
  const scrapes = async (): Promise<number> => (await samples('min(count_over_time(up{job="wherry"}[10m]))'))[0]!.value;
  const first = await scrapes();
  await eventually(async () => expect(await scrapes()).toBeGreaterThanOrEqual(first + 2));
  const all = await samples('{__name__=~"wherry_.*",job="wherry",container="router"}');
  const series = new Set(
    all.map(({ metric: { instance: _instance, pod: _pod, ...metric } }) => JSON.stringify(metric)),
  );
  return { calls: (await samples('sum(wherry_function_calls_total{job="wherry"})'))[0]!.value, series };
}

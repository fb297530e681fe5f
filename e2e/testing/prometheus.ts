import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mustRun } from '../cluster/command.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { discoverPods, type PodDiscovery } from './discover-pods.ts';
import { eventually, send } from './api-client.ts';

/** A target of a scrape, as Prometheus' API has it. */
interface Target {
  labels: Record<string, string>;
  health: string;
  lastError: string;
}

interface Sample {
  metric: Record<string, string>;
  value: number;
}

/** A real Prometheus that runs beside a cluster. */
export interface Prometheus {
  targets(): Promise<Target[]>;
  /** Type and help of every metric that it knows, by name. */
  metadata(): Promise<Record<string, { type: string; help: string }[]>>;
  /** @param query PromQL */
  query(query: string): Promise<Sample[]>;
  stop(): Promise<void>;
}

/** As in its configuration. */
export interface ScrapeConfig {
  job_name: string;
  kubernetes_sd_configs: PodDiscovery[];
}

/** Where it listens: in the cluster's namespaces nothing else does. On a machine's own network it may be taken. */
const ADDRESS = { host: '127.0.0.1', port: 19_090 };

/** Starts Debian's prometheus where pods can be reached, which looks for pods once. */
export async function startPrometheus(cluster: Cluster, scrapeConfigs: readonly ScrapeConfig[]): Promise<Prometheus> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-prometheus-'));
  const configuration = path.join(folder, 'prometheus.yaml');
  const configs = scrapeConfigs.map(async ({ kubernetes_sd_configs, ...rest }) => {
    const file = path.join(folder, `${rest.job_name}.json`);
    await writeFile(
      file,
      JSON.stringify((await Promise.all(kubernetes_sd_configs.map((each) => discoverPods(cluster, each)))).flat()),
    );
    return { ...rest, file_sd_configs: [{ files: [file] }] };
  });
  await writeFile(configuration, JSON.stringify({ scrape_configs: await Promise.all(configs) }));
  await mustRun('promtool', ['check', 'config', configuration]);
  const listen = `--web.listen-address=${ADDRESS.host}:${ADDRESS.port}`;
  const child = cluster.start(
    'prometheus',
    [`--config.file=${configuration}`, `--storage.tsdb.path=${folder}/data`, listen],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr?.on('data', (text: Buffer) => (said += text.toString()));
  const ended = once(child, 'exit');
  const way = await cluster.forward(ADDRESS);
  const stop = async (): Promise<void> => {
    await way.close();
    // In namespaces no other signal gets through.
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const fetchValue = async <T>(what: string): Promise<T> => {
    const { status, text, body } = await send(`${way.url}/api/v1/${what}`);
    if (status !== 200) throw new Error(`Prometheus answered ${status}: ${text}`);
    return (body as { data: T }).data;
  };
  try {
    await eventually(async () => {
      if (child.exitCode !== null) return;
      if ((await send(`${way.url}/-/ready`)).status !== 200) throw new Error('Prometheus is not ready yet');
    });
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${said}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    targets: async () => (await fetchValue<{ activeTargets: Target[] }>('targets?state=active')).activeTargets,
    metadata: () => fetchValue('metadata'),
    async query(query) {
      const { result } = await fetchValue<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        `query?query=${encodeURIComponent(query)}`,
      );
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    stop,
  };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ApiClient } from './api-client.ts';
import { startService } from './embedded-service.ts';

const run = promisify(execFile);

/** Wherry as its callers have it, wherever it runs. A suite that knows no more runs against one machine and a cluster. */
export interface Platform {
  /** Where `/run` is served, without a trailing slash. */
  functionUrl: string;
  /** Where `/api` is served, without a trailing slash. */
  managementUrl: string;
  managementKey: string;
  /** How soon a function's first code answers, in milliseconds: on one machine at once, in a cluster when its pods are ready. */
  startsWithinMs: number;
  /** What its programs have printed. */
  output(): Promise<string>;
  /** Leaves nothing behind. */
  dispose(): Promise<void>;
}

/** JSON of a `ClusterAccess`: suites that find it run against that cluster. `npm test` sets it for its second round. */
export const CLUSTER_VARIABLE = 'WHERRY_E2E_CLUSTER';

/** How a test reaches Wherry in a cluster. */
export interface ClusterAccess {
  functionUrl: string;
  managementUrl: string;
  managementKey: string;
  /** A command line to which a program and its arguments are added: it runs them where the cluster is, with its KUBECONFIG. */
  inside: string[];
}

export function clusterAccess(): ClusterAccess | undefined {
  const text = process.env[CLUSTER_VARIABLE];
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as ClusterAccess);
}

/** A service of its own, or the cluster, in which nothing of other suites is left. */
export async function startPlatform(): Promise<Platform> {
  const cluster = clusterAccess();
  return cluster === undefined ? onThisMachine() : inCluster(cluster);
}

async function onThisMachine(): Promise<Platform> {
  const service = await startService();
  const { functionUrl, managementUrl, managementKey = '', output, dispose } = service;
  return { functionUrl, managementUrl, managementKey, startsWithinMs: 1000, output: async () => output(), dispose };
}

async function inCluster({ functionUrl, managementUrl, managementKey, inside }: ClusterAccess): Promise<Platform> {
  const api = new ApiClient(managementUrl, managementKey);
  await removeAll(api);
  const [program = '', ...before] = inside;
  const logs = ['kubectl', 'logs', '--namespace=wherry-system', '--selector=app.kubernetes.io/part-of=wherry', '--all-containers', '--tail=-1'];
  return {
    functionUrl,
    managementUrl,
    managementKey,
    startsWithinMs: 20_000,
    output: async () => (await run(program, [...before, ...logs], { maxBuffer: 256 * 1024 * 1024 })).stdout,
    dispose: () => removeAll(api),
  };
}

/** Everything but the management group and its keys. */
async function removeAll(api: ApiClient): Promise<void> {
  const all = async (path: string, field: string): Promise<Record<string, string>[]> => (await api.expect('GET', path)).body[field];
  for (const { id } of await all('/api/functions', 'functions')) await api.expect('DELETE', `/api/functions/${id}`);
  for (const { id } of await all('/api/sources', 'sources')) await api.expect('DELETE', `/api/sources/${id}`);
  for (const { id, groupName } of await all('/api/keys', 'keys')) if (groupName !== 'management') await api.expect('DELETE', `/api/keys/${id}`);
  for (const { id, name } of await all('/api/key-groups', 'groups')) if (name !== 'management') await api.expect('DELETE', `/api/key-groups/${id}`);
}

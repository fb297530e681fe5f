import { TEST_CLUSTER, testCluster } from '../cluster/test-cluster.ts';
import { ApiClient } from './api-client.ts';
import { startService } from './embedded-service.ts';

/**
 * Wherry as its callers see it, wherever it runs. A suite that needs no more runs against one machine and a cluster.
 */
export interface Platform {
  /** Where `/run` is served, without a trailing slash. */
  functionUrl: string;
  /** Where `/api` is served, without a trailing slash. */
  managementUrl: string;
  managementKey: string;
  /**
   * How soon a function's first code answers, in milliseconds: on one machine at once, in a cluster when its pods are
   * ready.
   */
  startsWithinMs: number;
  /** What its programs have printed. */
  output(): Promise<string>;
  /** Leaves nothing behind. */
  dispose(): Promise<void>;
}

const SYSTEM = '--namespace=wherry-system';
const FUNCTIONS = '--namespace=wherry-functions';

/** A service of its own; where the run has a cluster, that one, with nothing of other suites in it. */
export async function startPlatform(): Promise<Platform> {
  return process.env[TEST_CLUSTER] === undefined ? onThisMachine() : inCluster();
}

async function onThisMachine(): Promise<Platform> {
  const service = await startService();
  const { functionUrl, managementUrl, managementKey = '' } = service;
  return {
    functionUrl,
    managementUrl,
    managementKey,
    startsWithinMs: 1000,
    output: async () => service.output(),
    dispose: () => service.dispose(),
  };
}

async function inCluster(): Promise<Platform> {
  const cluster = testCluster();
  const urls = cluster.urls();
  const key = await cluster.kubectl(['get', 'secret', SYSTEM, 'wherry-management-key', '-o', 'jsonpath={.data.key}']);
  const managementKey = Buffer.from(key, 'base64').toString('utf8');
  const api = new ApiClient(urls.management, managementKey);
  await removeAll(api);
  return {
    functionUrl: urls.functions,
    managementUrl: urls.management,
    managementKey,
    startsWithinMs: 20_000,
    output: async () => {
      const said = (namespace: string, selector: string): Promise<string> =>
        cluster.kubectl([
          'logs',
          namespace,
          `--selector=${selector}`,
          '--all-containers',
          '--tail=-1',
          '--ignore-errors',
        ]);
      const [programs, functions] = [
        said(SYSTEM, 'app.kubernetes.io/part-of=wherry'),
        said(FUNCTIONS, 'app.kubernetes.io/name=wherry-function'),
      ];
      return `${await programs}${await functions}`;
    },
    dispose: () => removeAll(api),
  };
}

/** Everything but the management group and its keys. */
export async function removeAll(api: ApiClient): Promise<void> {
  const all = async (path: string, field: string): Promise<Record<string, string>[]> =>
    (await api.expect('GET', path)).body[field];
  for (const { id } of await all('/api/functions', 'functions')) await api.expect('DELETE', `/api/functions/${id}`);
  for (const { id } of await all('/api/secrets?scope=global', 'secrets'))
    await api.expect('DELETE', `/api/secrets/${id}`);
  for (const { id } of await all('/api/sources', 'sources')) await api.expect('DELETE', `/api/sources/${id}`);
  for (const { id, groupName } of await all('/api/keys', 'keys'))
    if (groupName !== 'management') await api.expect('DELETE', `/api/keys/${id}`);
  for (const { id, name } of await all('/api/key-groups', 'groups'))
    if (name !== 'management') await api.expect('DELETE', `/api/key-groups/${id}`);
}

/**
 * Leads ports of loopback to the router's and the manager's Services, for as long as the cluster is there:
 *   node forwarder.ts NAME
 * It prints one line of JSON, the URLs.
 */
import { openCluster, type Cluster } from './cluster.ts';
import { readState, type ClusterUrls } from './cluster-state.ts';
import { SYSTEM_NAMESPACE } from './names.ts';

const LOOK_MS = 5000;

async function urlOf(cluster: Cluster, name: string, port: number): Promise<string> {
  return (await cluster.forwardService({ namespace: SYSTEM_NAMESPACE, name, port })).url;
}

const name = process.argv[2] ?? '';
const state = readState(name);
if (state === undefined) throw new Error(`There is no cluster "${name}".`);
const cluster = openCluster(state);
const urls: ClusterUrls = {
  functions: await urlOf(cluster, 'wherry-router', 8000),
  management: await urlOf(cluster, 'wherry-manager', 9000),
};
process.stdout.write(`${JSON.stringify(urls)}\n`);
// The reader of the line may be gone later.
process.stdout.on('error', () => undefined);
// The state's file goes with the cluster.
setInterval(() => {
  if (readState(name)?.kubeconfig === undefined) process.exit();
}, LOOK_MS);

/**
 * `npm run cluster -- up|status|down|in CMD…|programs|contexts FOLDER [--name NAME]`: a real Kubernetes with Wherry on
 * it. See docs/guides/development-cluster.md.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { bringUp } from './bring-up.ts';
import { openCluster, type Cluster } from './cluster.ts';
import { clusterNames, isThere, readState } from './cluster-state.ts';
import { makeContexts } from './images/build-images.ts';
import { SYSTEM_NAMESPACE } from './names.ts';
import { findOrBuildPrograms } from './programs/build-programs.ts';
import { say } from './progress.ts';
import { takeDown } from './take-down.ts';
import { withLock } from './with-lock.ts';

const USAGE = `npm run cluster -- COMMAND [--name NAME]

  up         brings the cluster up with Wherry in it, and says how to reach it; --bare: without Wherry
  status     says which clusters are up
  down       takes it down, without a trace
  in CMD…    runs a command where kubectl, helm, kind and docker know the cluster
  programs   builds the Kubernetes programs and says where they are
  contexts FOLDER
             makes a folder for each program, of which \`docker build\` makes its image

The name is "dev" unless --name says otherwise; it comes before CMD.`;

async function up(name: string, { isBare }: { isBare: boolean }): Promise<void> {
  const cluster = await bringUp({ name, install: !isBare });
  const run = runOf(name);
  // kubectl caches API discovery, and did so before these kinds existed.
  if (!isBare) await cluster.kubectl(['api-resources', '--cached=false']);
  console.log(`The cluster "${name}" is up.`);
  if (!isBare) console.log(reach(cluster, run));
  console.log(`  Look:        ${run} in kubectl get pods -A\n  Take down:   ${run} down`);
}

/** How `npm run cluster` is called for a cluster. */
const runOf = (name: string): string => `npm run -s cluster --${name === 'dev' ? '' : ` --name ${name}`}`;

function reach(cluster: Cluster, run: string): string {
  const { functions, management } = cluster.urls();
  const key = `kubectl get secret -n ${SYSTEM_NAMESPACE} wherry-management-key -o jsonpath={.data.key}`;
  return `  Functions:   ${functions}/run/\n  Management:  ${management}/api/\n  Its key:     ${run} in ${key} | base64 -d`;
}

async function status(): Promise<void> {
  const states = clusterNames().map((name) => ({ name, state: readState(name) }));
  if (states.length === 0) console.log('No cluster is up.');
  for (const { name, state } of states) {
    if (state === undefined || !isThere(state)) {
      console.log(`${name}: gone, but for its files; \`down\` removes them`);
      continue;
    }
    // In namespaces of its own the API server is not reached from here.
    const access = state.way === 'namespaces' ? `${runOf(name)} in kubectl` : `KUBECONFIG=${state.kubeconfig}`;
    console.log(`${name}: ${state.isReady ? 'up' : 'not up yet'} (${state.way}), ${access}`);
    if (state.forwarder !== undefined)
      console.log(`  Functions: ${state.forwarder.urls.functions}  Management: ${state.forwarder.urls.management}`);
    if (!state.isReady) continue;
    const { stdout, stderr } = await openCluster(state).run('kubectl', ['get', 'nodes,pods', '-A'], {
      timeoutMs: 10_000,
    });
    console.log(stdout + stderr);
  }
}

async function down(name: string): Promise<void> {
  await withLock(`cluster-${name}`, `it brings the cluster "${name}" up or down`, () => takeDown(name));
  say(`The cluster "${name}" is gone.`);
}

async function runInside(name: string, [command, ...args]: readonly string[]): Promise<number> {
  const state = readState(name);
  if (state === undefined || !isThere(state))
    throw new Error(`The cluster "${name}" is not up: run \`npm run cluster -- up\`.`);
  if (command === undefined) throw new Error('Which command? Such as `npm run cluster -- in kubectl get pods -A`.');
  const child = openCluster(state).start(command, args, { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

async function contexts(folder: string): Promise<void> {
  for (const { name } of await makeContexts(folder)) console.log(path.join(folder, name));
}

async function main(args: readonly string[]): Promise<number> {
  // What follows `in` is the command's, options included.
  const end = args.indexOf('in');
  const own = end === -1 ? args : args.slice(0, end + 1);
  const { values, positionals } = parseArgs({
    args: [...own],
    options: {
      name: { type: 'string', default: 'dev' },
      bare: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [command, folder] = positionals;
  if (command === 'up') await up(values.name, { isBare: values.bare });
  else if (command === 'status') await status();
  else if (command === 'down') await down(values.name);
  else if (command === 'in') return runInside(values.name, args.slice(end + 1));
  else if (command === 'programs') console.log(await findOrBuildPrograms('cluster'));
  else if (command === 'contexts' && folder !== undefined) await contexts(folder);
  else {
    console.log(USAGE);
    return values.help ? 0 : 1;
  }
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { stillRunning } from '../testing/processes.ts';
import { mustRun, runProgram } from './command.ts';
import { openCluster, type Cluster } from './cluster.ts';
import { clusterFolder, isThere, readState, writeState, type ClusterState, type ClusterWay } from './cluster-state.ts';
import { installWherry, type ChartValues } from './install-wherry.ts';
import { kindConfig, CLUSTER_NETWORKS } from './kind/kind-config.ts';
import { configureClusterDns, untilClusterDnsAnswers } from './kind/configure-cluster-dns.ts';
import { createControlGroup } from './machine/control-group.ts';
import { dockerDaemonCommand, untilDockerAnswers } from './machine/docker-daemon.ts';
import { machineOfState, relaySocket } from './machine/machine-of-state.ts';
import { startNamespaces, startRelay } from './machine/namespaces.ts';
import { thisMachine } from './machine/this-machine.ts';
import { findOrMakeNodeImage } from './node-image/make-node-image.ts';
import { findOrBuildPrograms } from './programs/build-programs.ts';
import { progress, say } from './progress.ts';
import { startForwarder } from './start-forwarder.ts';
import { controlGroup, kindName } from './names.ts';
import { takeDown } from './take-down.ts';
import { withLock } from './with-lock.ts';

interface BringUpOptions {
  name: string;
  /** It is removed when this process ends, however that ends: for test runs. */
  bound?: boolean;
  /** Whether Wherry is installed in it, or upgraded; default: yes. */
  install?: boolean;
  /** Of the chart. */
  chartValues?: ChartValues;
}

/** Bytes that a path of a Unix socket may have, less what is appended to it. */
const MAX_SOCKET_PATH = 95;
/** The user id without which no namespaces can be made. */
const ROOT = 0;

/** Starts a Kubernetes cluster and installs Wherry in it, or upgrades the existing release. */
export async function bringUp(options: BringUpOptions): Promise<Cluster> {
  return withLock(`cluster-${options.name}`, `it brings the cluster "${options.name}" up or down`, async () => {
    const cluster = await bringUpBare(options);
    if (options.install ?? true) {
      await progress(`Installing Wherry in "${options.name}"`, () => installWherry(cluster, options.chartValues));
      await leadIn(options);
    }
    return cluster;
  });
}

/** Starts the process that leads ports of this machine to Wherry, where it does not run yet. */
async function leadIn({ name, bound = false }: BringUpOptions): Promise<void> {
  const state = readState(name);
  if (state === undefined) return;
  if (state.forwarder !== undefined && stillRunning([state.forwarder.process]).length === 1) return;
  writeState({ ...state, forwarder: await startForwarder(name, { bound }) });
}

/**
 * Brings a bare Kubernetes up, or finds the one of that name that is up. In this order: the one that KUBECONFIG names,
 * kind on the machine's Docker daemon, kind on a Docker daemon in namespaces of its own.
 */
async function bringUpBare(options: BringUpOptions): Promise<Cluster> {
  const found = readState(options.name);
  if (found?.isReady === true && isThere(found)) return openCluster(found);
  if (found !== undefined) await takeDown(options.name);
  const way = await chooseWay();
  try {
    const state = await progress(`Bringing up the cluster "${options.name}"`, () => BRING_UP[way](options));
    writeState({ ...state, isReady: true });
    return openCluster(state);
  } catch (error) {
    await takeDown(options.name).catch((cause: unknown) => say(`and it could not be taken down: ${String(cause)}`));
    throw error;
  }
}

const BRING_UP: Record<ClusterWay, (options: BringUpOptions) => Promise<ClusterState>> = {
  given: useGivenCluster,
  docker: createOnDocker,
  namespaces: createInNamespaces,
};

/** How a cluster would be created on this machine now. */
export async function chooseWay(): Promise<ClusterWay> {
  if ((process.env['KUBECONFIG'] ?? '') !== '') return 'given';
  const docker = await runProgram('docker', ['info'], { timeoutMs: 10_000 }).catch(() => undefined);
  return docker?.code === 0 ? 'docker' : 'namespaces';
}

async function useGivenCluster({ name }: BringUpOptions): Promise<ClusterState> {
  const kubeconfig = path.resolve(process.env['KUBECONFIG'] ?? '');
  const programs =
    (await runProgram('kubectl', ['version', '--client']).catch(() => undefined)) === undefined
      ? await findOrBuildPrograms('cluster')
      : '';
  const state: ClusterState = { name, way: 'given', kubeconfig, programs, node: '', gateway: '', isReady: false };
  const cluster = openCluster(state);
  const context = await cluster.kubectl(['config', 'current-context']);
  say(`KUBECONFIG names a cluster, which is used: ${context.trim()}`);
  const node = await cluster.kubectl([
    'get',
    'nodes',
    '-o',
    'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
  ]);
  return { ...state, node };
}

/**
 * With kind's own node image, which Docker gets from its registry, and the programs that are in PATH where they are.
 */
async function createOnDocker({ name }: BringUpOptions): Promise<ClusterState> {
  const installed = await Promise.all(
    ['kind', 'kubectl', 'helm'].map((program) => runProgram(program, ['version']).catch(() => undefined)),
  );
  const programs = installed.includes(undefined) ? await findOrBuildPrograms('cluster') : '';
  const folder = clusterFolder(name);
  await mkdir(folder, { recursive: true });
  const kubeconfig = path.join(folder, 'kubeconfig');
  const state: ClusterState = { name, way: 'docker', kubeconfig, programs, node: '', gateway: '', isReady: false };
  writeState(state);
  await createKind(state, []);
  return { ...state, ...(await nodeAddresses(state)) };
}

async function createInNamespaces({ name, bound = false }: BringUpOptions): Promise<ClusterState> {
  requireRoot();
  const programs = await findOrBuildPrograms('cluster');
  const image = await findOrMakeNodeImage(programs);
  const folder = clusterFolder(name);
  if (relaySocket(name).length > MAX_SOCKET_PATH)
    throw new Error(`${folder} is too long for a socket's path: set XDG_CACHE_HOME to a shorter one.`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.join(folder, 'home'), { recursive: true });
  const log = path.join(folder, 'docker.log');
  const namespaces = await startNamespaces(await dockerDaemonCommand(path.join(folder, 'docker'), controlGroup(name)), {
    log,
    bound,
  });
  const kubeconfig = path.join(folder, 'kubeconfig');
  const state: ClusterState = {
    name,
    way: 'namespaces',
    kubeconfig,
    programs,
    node: '',
    gateway: '',
    namespaces,
    isReady: false,
  };
  writeState(state);
  createControlGroup(controlGroup(name));
  const machine = machineOfState(state);
  await startRelay(namespaces, { socket: relaySocket(name), log: path.join(folder, 'relay.log') });
  await untilDockerAnswers(machine, namespaces, log);
  await progress("  the node's image", () => {
    const changes = ['ENV container=docker', 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]'];
    const args = changes.flatMap((change) => ['--change', change]);
    return mustRun('docker', ['import', ...args, image.archive, image.name], { start: machine.start });
  });
  await createKind(state, ['--image', image.name]);
  const addresses = await nodeAddresses(state);
  // Through its node, pods and Services are reachable from programs beside the daemon.
  for (const network of CLUSTER_NETWORKS) {
    await mustRun('ip', ['route', 'add', network, 'via', addresses.node], { start: machine.start });
  }
  return { ...state, ...addresses };
}

function requireRoot(): void {
  if (process.getuid?.() === ROOT && existsSync('/proc/self/ns/net')) return;
  throw new Error(
    'Without a Docker daemon the cluster runs in namespaces, which only root can make on Linux: run as root, start Docker, or set KUBECONFIG.',
  );
}

async function createKind(state: ClusterState, args: readonly string[]): Promise<void> {
  const { start } = machineOfState(state);
  await progress('  kind create cluster', async () => {
    const kind = [
      'create',
      'cluster',
      '--name',
      kindName(state.name),
      '--kubeconfig',
      state.kubeconfig,
      '--config',
      '-',
      '--wait',
      '3m',
    ];
    await mustRun('kind', [...kind, ...args], { start, input: kindConfig });
  });
  await progress('  cluster DNS', async () => {
    if (state.way === 'namespaces') await configureClusterDns(start);
    await untilClusterDnsAnswers(start);
  });
}

async function nodeAddresses(state: ClusterState): Promise<Pick<ClusterState, 'node' | 'gateway'>> {
  const format = '{{with .NetworkSettings.Networks.kind}}{{.IPAddress}} {{.Gateway}}{{end}}';
  const { start } = state.namespaces === undefined ? thisMachine : machineOfState(state);
  const answer = await mustRun('docker', ['inspect', '--format', format, `${kindName(state.name)}-control-plane`], {
    start,
  });
  const [node = '', gateway = ''] = answer.trim().split(' ');
  return { node, gateway };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chooseWay } from '../cluster/bring-up.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { findOrBuildPrograms } from '../cluster/programs/build-programs.ts';
import type { ProgramSet } from '../cluster/programs/program-table.ts';
import { bringUpTestCluster } from '../cluster/test-cluster.ts';
import { announceCluster, CLUSTER_FILE } from './announced-cluster.ts';
import type { Counts } from './count-results.ts';
import { installPackages } from './install-packages.ts';
import { clusterPackages } from './packages.ts';

const GOOD: Counts = { passed: 1, failed: 0, remarks: [] };
const BY_SIGNAL = 128;

/** Builds the Kubernetes programs, and passes their paths to the tests. */
export async function prepareKubernetesPrograms(set: ProgramSet): Promise<Counts> {
  return counted(async () => {
    process.env['KUBEBUILDER_ASSETS'] = await findOrBuildPrograms(set);
  });
}

/**
 * Brings a cluster up while the tests run, of which those that need it wait for it, and takes it down, however they end.
 * @returns the tests' counts, and one for each of up and down
 */
export async function withTestCluster(run: () => Promise<Counts>): Promise<Counts> {
  let cluster: Cluster | undefined;
  const down = async (): Promise<void> => {
    await cluster?.down();
    cluster = undefined;
  };
  const forget = onSignals(down);
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-cluster-'));
  const file = path.join(folder, 'name');
  process.env[CLUSTER_FILE] = file;
  try {
    const up = counted(async () => {
      if ((await chooseWay()) === 'namespaces' && !(await installPackages(clusterPackages)))
        throw new Error('packages are missing');
      cluster = await bringUpTestCluster();
    }).finally(() => announceCluster(file, cluster?.name));
    const counts = await Promise.all([up, run()]);
    return sum([...counts, await counted(down)]);
  } finally {
    forget();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function counted(act: () => Promise<void>): Promise<Counts> {
  try {
    await act();
    return GOOD;
  } catch (error) {
    return { passed: 0, failed: 1, remarks: [error instanceof Error ? error.message : String(error)] };
  }
}

function sum(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((total, { passed }) => total + passed, 0),
    failed: all.reduce((total, { failed }) => total + failed, 0),
    remarks: all.flatMap(({ remarks }) => remarks),
  };
}

/** A run that is interrupted takes the cluster down before it ends. */
function onSignals(down: () => Promise<void>): () => void {
  const signals = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 };
  const handlers = Object.entries(signals).map(([signal, code]) => {
    const handle = (): void => void down().finally(() => process.exit(BY_SIGNAL + code));
    process.once(signal, handle);
    return () => process.off(signal, handle);
  });
  return () => handlers.forEach((forget) => forget());
}

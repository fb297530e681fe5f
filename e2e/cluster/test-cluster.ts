import { bringUp } from './bring-up.ts';
import { openCluster, type Cluster } from './cluster.ts';
import { clusterNames, isThere, readState } from './cluster-state.ts';
import { takeDown } from './take-down.ts';
import { say } from './progress.ts';

/** Names the cluster of a test run for its suites. */
export const TEST_CLUSTER = 'WHERRY_TEST_CLUSTER';

const OWN_NAME = /^test-(\d+)$/;

/**
 * Brings up the cluster that the suites of one run share, with Wherry in it. It dies with this process at the latest.
 */
export async function bringUpTestCluster(): Promise<Cluster> {
  await sweepTestClusters();
  return bringUp({ name: `test-${process.pid}`, bound: true });
}

/** Removes what killed runs left behind. */
async function sweepTestClusters(): Promise<void> {
  for (const name of clusterNames()) {
    const pid = Number(OWN_NAME.exec(name)?.[1]);
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    say(`Removing what the cluster "${name}" of a killed run left`);
    await takeDown(name);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The cluster that a suite runs on. @throws Error that says how to get one */
export function testCluster(): Cluster {
  const name = process.env[TEST_CLUSTER] ?? '';
  const state = name === '' ? undefined : readState(name);
  if (state !== undefined && isThere(state)) return openCluster(state);
  throw new Error(
    'This suite needs a cluster: `npm test -- e2e/cluster-suites` brings one up; or bring one up by `npm run cluster -- up` ' +
      `and name it, ${TEST_CLUSTER}=dev, for each later run of jest.`,
  );
}

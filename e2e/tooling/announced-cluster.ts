import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { TEST_CLUSTER } from '../cluster/test-cluster.ts';

/** Names the file that will hold the name of a run's cluster, once that is up. */
export const CLUSTER_FILE = 'WHERRY_TEST_CLUSTER_FILE';
const LOOK_MS = 500;

/** @param name none when the cluster could not be brought up */
export function announceCluster(file: string, name: string | undefined): void {
  // Whoever sees the file reads all of it.
  writeFileSync(`${file}.new`, name ?? '');
  renameSync(`${file}.new`, file);
}

interface AnnouncedCluster {
  /** Whether it is being brought up. */
  isComing(): boolean;
  /** That of the suites that need it, once that is decided; undefined when the cluster could not be brought up. */
  environment(): Promise<NodeJS.ProcessEnv | undefined>;
}

/** That of the tests that need no cluster. */
export function withoutCluster({
  [CLUSTER_FILE]: _file,
  [TEST_CLUSTER]: _name,
  ...env
}: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env;
}

/** @param env names the cluster itself, or the file that will name it. With neither, the suites say how to get one. */
export function announcedCluster({ [CLUSTER_FILE]: file, ...env }: NodeJS.ProcessEnv): AnnouncedCluster {
  const isComing = (): boolean => file !== undefined && !existsSync(file);
  return {
    isComing,
    async environment() {
      if (file === undefined) return env;
      while (isComing()) await delay(LOOK_MS);
      const name = readFileSync(file, 'utf8');
      return name === '' ? undefined : { ...env, [TEST_CLUSTER]: name };
    },
  };
}

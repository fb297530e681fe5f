import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ClusterWorkloads } from '@wherry/core/ports/cluster-workloads.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createDeploymentWorkloads } from '../workloads/deployment-workloads.ts';
import { TestCluster } from './test-cluster.ts';
import { TEST_SETTINGS } from './test-workload.ts';

const START_LIMIT_MS = 120_000;

/**
 * Workloads on a real API server; every test has a namespace of its own. Nothing of it is there before the first hook.
 */
class WorkloadBench {
  cluster!: TestCluster;
  namespace!: string;
  /** What `find` reads. A test that starts other workloads may put them here. */
  workloads!: ClusterWorkloads;
  logger!: FakeLogger;
  /** Whether the workloads of this test take themselves for the leader. */
  leads = true;
  #running: ClusterWorkloads[] = [];

  /** A namespace without any object, and workloads in it that have written nothing. */
  async prepareTest(): Promise<void> {
    this.leads = true;
    this.logger = new FakeLogger();
    this.namespace = await this.cluster.createNamespace();
    this.workloads = await this.startWorkloads();
    this.cluster.takeWrites();
  }

  /** Workloads of one operator more. They stop at the end of the test. */
  async startWorkloads(clock: Clock = systemClock): Promise<ClusterWorkloads> {
    const settings = { ...TEST_SETTINGS, namespace: this.namespace };
    const made = createDeploymentWorkloads({
      client: this.cluster.client,
      settings,
      tokenOf: (uid) => `token-of-${uid}`,
      leads: () => this.leads,
      clock,
      logger: this.logger,
    });
    this.#running.push(made);
    await made.start();
    return made;
  }

  async stopWorkloads(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((one) => one.stop()));
  }

  find(name: string): ObservedWorkload | undefined {
    return this.workloads.list().find((workload) => workload.name === name);
  }
}

/** A bench for the tests of a file, from before the first of them until after the last. */
export function useWorkloads(): WorkloadBench {
  const bench = new WorkloadBench();
  beforeAll(async () => {
    bench.cluster = await TestCluster.start();
  }, START_LIMIT_MS);
  afterAll(() => bench.cluster.stop());
  beforeEach(() => bench.prepareTest());
  afterEach(() => bench.stopWorkloads());
  return bench;
}

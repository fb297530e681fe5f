import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { RuntimeIdentity } from '@wherry/core/ports/runtime-feed.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { identifyRuntime, type RuntimeHello, type RuntimePeer } from './identify-runtime.ts';
import { createWorkloadCaches } from './workload-caches.ts';
import type { WorkloadSettings } from './workload-settings.ts';
import { WorkloadView } from './workload-view.ts';
import { WorkloadWriter } from './workload-writer.ts';

interface DeploymentWorkloadsOptions {
  client: KubeClient;
  settings: WorkloadSettings;
  /** The feed token of a function, by its uid, under the current feed key. */
  tokenOf: (functionUid: string) => string;
  /** Whether this replica holds the lease: another repairs and removes nothing of its own accord. */
  leads: () => boolean;
  clock: Clock;
  logger: Logger;
}

/** Workloads as Deployments. Each replica observes; only who leads calls `ensure` and `remove`. */
export interface DeploymentWorkloads extends Workloads {
  /** Resolves when what runs is known: `list` is whole from then on. */
  start(): Promise<void>;
  /** Pods run on. */
  stop(): Promise<void>;
  /** This replica does not lead any more: nothing is kept as it was ensured. */
  rest(): void;
  /** Which instance connects; undefined: none that its pod and that pod's address confirm. Waits up to ten seconds for these. */
  identify(hello: RuntimeHello, peer: RuntimePeer): Promise<RuntimeIdentity | undefined>;
  /**
   * The runtime of the pod has reported over the feed that it takes calls: it counts as ready before the kubelet says so.
   * @returns to be called when its connection has ended, and with it perhaps the process.
   */
  markLoaded(podName: string): () => void;
}

/** The Workloads port on Kubernetes: one Deployment for each pair of artifact and template, with what belongs to it. */
export function createDeploymentWorkloads(options: DeploymentWorkloadsOptions): DeploymentWorkloads {
  const { client, settings, clock } = options;
  const logger = options.logger.child({ part: 'workloads' });
  const caches = createWorkloadCaches({ client, namespace: settings.namespace, clock, logger });
  const view = new WorkloadView({ caches, clock, logger });
  const writer = new WorkloadWriter({ ...options, caches, view, logger });
  return {
    ensure: (desired) => writer.ensure(desired),
    remove: (name) => writer.remove(name),
    list: () => view.list(),
    watch: (onChange) => view.watch(onChange),
    start: () => caches.start(),
    async stop() {
      writer.stop();
      await caches.stop();
    },
    rest: () => writer.rest(),
    identify: (hello, peer) => identifyRuntime(hello, peer, { pods: caches.pods, clock }),
    markLoaded: (podName) => view.markLoaded(podName),
  };
}

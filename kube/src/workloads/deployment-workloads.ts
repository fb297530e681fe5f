import type { ClusterWorkloads } from '@wherry/core/ports/cluster-workloads.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { identifyRuntime } from './identify-runtime.ts';
import { createWorkloadCaches } from './workload-caches.ts';
import type { WorkloadSettings } from './workload-settings.ts';
import { WorkloadView } from './workload-view.ts';
import { WorkloadWriter } from './workload-writer.ts';

export interface DeploymentWorkloadsOptions {
  client: KubeClient;
  settings: WorkloadSettings;
  /** The feed token of a function, by its uid, under the current feed key. */
  tokenOf: (functionUid: string) => string;
  /** Whether this replica holds the lease: others repair and remove nothing on their own initiative. */
  leads: () => boolean;
  clock: Clock;
  logger: Logger;
}

/** The Workloads port on Kubernetes: one Deployment for each pair of artifact and template, with what belongs to it. */
export function createDeploymentWorkloads(options: DeploymentWorkloadsOptions): ClusterWorkloads {
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

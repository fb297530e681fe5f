import type { V1Deployment } from '@kubernetes/client-node';
import { podMetadata, podSelector, workloadMetadata } from './build-metadata.ts';
import { buildPodSpec } from './build-pod.ts';
import type { WorkloadInput } from './workload-settings.ts';

/**
 * Runs a workload's instances. A workload is scaled, never rolled: only another runtime image or drain time replaces its
 * pods, and then none goes before its successor is ready.
 */
export function buildDeployment(input: WorkloadInput): V1Deployment {
  const { desired, settings } = input;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: workloadMetadata(desired.name, settings.namespace, desired),
    spec: {
      replicas: desired.replicas,
      revisionHistoryLimit: 1,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: podSelector(desired) },
      template: { metadata: podMetadata(desired), spec: buildPodSpec(input) },
    },
  };
}

import type { V1PodDisruptionBudget } from '@kubernetes/client-node';
import { podSelector, workloadMetadata } from './build-metadata.ts';
import type { WorkloadInput } from './workload-settings.ts';

/**
 * Lets a node's drain take one instance at a time. Undefined for a workload of one instance: a budget would keep a
 * node from ever being drained.
 */
export function buildDisruptionBudget({ desired, settings }: WorkloadInput): V1PodDisruptionBudget | undefined {
  if (desired.replicas <= 1) return undefined;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: workloadMetadata(desired.name, settings.namespace, desired),
    // Instances that are not ready serve nobody: they must not keep a node from being drained.
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: podSelector(desired) },
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}

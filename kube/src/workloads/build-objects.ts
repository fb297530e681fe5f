import type { V1Deployment, V1PodDisruptionBudget, V1Secret, V1Service } from '@kubernetes/client-node';
import { ownedMetadata, podMetadata, podSelector, workloadMetadata } from './build-metadata.ts';
import { buildPodSpec } from './build-pod.ts';
import { CALL_PORT, feedSecretName, serviceName } from './names.ts';
import type { WorkloadInput } from './workload-settings.ts';

/** All objects of a workload. */
export interface WorkloadObjects {
  secret: V1Secret;
  service: V1Service;
  deployment: V1Deployment;
  /** Undefined: none is desired. */
  disruptionBudget: V1PodDisruptionBudget | undefined;
}

/** @param token the function's feed token. */
export function buildObjects(input: WorkloadInput, token: string): WorkloadObjects {
  return {
    secret: buildFeedSecret(input, token),
    service: buildService(input),
    deployment: buildDeployment(input),
    disruptionBudget: buildDisruptionBudget(input),
  };
}

/** The credential with which a function's pods authenticate to the feed; one for all of its workloads. */
function buildFeedSecret({ desired, settings }: WorkloadInput, token: string): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ownedMetadata(feedSecretName(desired.functionName), settings.namespace, desired),
    type: 'Opaque',
    data: { token: Buffer.from(token).toString('base64') },
  };
}

/** Headless: it exists for its EndpointSlices, which show which instances take calls. */
function buildService({ desired, settings }: WorkloadInput): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: workloadMetadata(serviceName(desired.name), settings.namespace, desired),
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: podSelector(desired),
      ports: [{ name: 'calls', port: CALL_PORT, targetPort: CALL_PORT, protocol: 'TCP' }],
    },
  };
}

/**
 * Runs a workload's instances. A workload is scaled, never rolled: only a different runtime image or drain time
 * replaces its pods, and then none stops before its successor is ready.
 */
function buildDeployment(input: WorkloadInput): V1Deployment {
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

/**
 * Lets a node's drain take one instance at a time. Undefined for a workload of one instance: a budget would keep a
 * node from ever being drained.
 */
function buildDisruptionBudget({ desired, settings }: WorkloadInput): V1PodDisruptionBudget | undefined {
  if (desired.replicas <= 1) return undefined;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: workloadMetadata(desired.name, settings.namespace, desired),
    // Instances that are not ready serve no calls: they must not keep a node from being drained.
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: podSelector(desired) },
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}

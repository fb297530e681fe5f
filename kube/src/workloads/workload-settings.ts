import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';

/** What all workloads of this installation share. */
export interface WorkloadSettings {
  /** Of functions: CRs and pods. */
  namespace: string;
  /** Of operator and router. */
  systemNamespace: string;
  /** Prefix of the release's objects, and its `app.kubernetes.io/instance`. */
  name: string;
  /** The shared runtime image. */
  image: string;
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** `host:port` of the operator's feed. */
  feedAddress: string;
  /** How long a pod that was told to go still takes calls, until every router knows. */
  lameDuckSeconds: number;
  /** CIDRs that functions may not reach: the cluster's own, private and link-local networks. */
  clusterRanges: readonly string[];
}

/** What the builders of a workload's objects are given. */
export interface BuildInput {
  desired: DesiredWorkload;
  settings: WorkloadSettings;
}

/** Private, shared, link-local and unique local networks: pods, Services, nodes and metadata services live there. */
export const DEFAULT_CLUSTER_RANGES: readonly string[] = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
  'fe80::/10',
];

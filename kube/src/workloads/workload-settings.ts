import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';

/** What all workloads of this installation share. */
export interface WorkloadSettings {
  /** Of functions: CRs and pods. */
  namespace: string;
  /** Prefix of the release's objects, and its `app.kubernetes.io/instance`. */
  name: string;
  /** The shared runtime image. */
  image: string;
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** `host:port` of the operator's feed. */
  feedAddress: string;
  /** How long a terminating pod still takes calls, until every router knows. */
  lameDuckSeconds: number;
}

/** The input of the builders of a workload's objects. */
export interface WorkloadInput {
  desired: DesiredWorkload;
  settings: WorkloadSettings;
}

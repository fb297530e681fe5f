import type { V1Deployment, V1PodDisruptionBudget, V1Secret, V1Service } from '@kubernetes/client-node';
import { buildDeployment } from './build-deployment.ts';
import { buildDisruptionBudget } from './build-disruption-budget.ts';
import { buildFeedSecret } from './build-feed-secret.ts';
import { buildService } from './build-service.ts';
import type { WorkloadInput } from './workload-settings.ts';

/** Everything that a workload is made of. */
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

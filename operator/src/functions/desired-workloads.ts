import { workloadName } from '@wherry/core/feed/workload-name.ts';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';

/** The workload that runs a revision as the function's spec wants it. */
export function desiredWorkload(fn: FunctionResource, revision: Digest): DesiredWorkload {
  const { spec, metadata } = fn;
  const template = { memoryMiB: spec.resources.memoryMiB, cpuMillis: spec.resources.cpuMillis };
  return {
    name: workloadName(metadata.name, revision, template),
    functionName: metadata.name,
    functionUid: metadata.uid,
    revision,
    template,
    replicas: spec.scaling.minReplicas,
    drainSeconds: spec.timeoutSeconds,
  };
}

/** The workload that answers calls now, when the spec still describes it; one of an earlier template only stays. */
export function activeDesired(fn: FunctionResource): DesiredWorkload | undefined {
  const { activeRevision, activeWorkload } = fn.status;
  if (activeRevision === undefined) return undefined;
  const desired = desiredWorkload(fn, activeRevision);
  return desired.name === activeWorkload ? desired : undefined;
}

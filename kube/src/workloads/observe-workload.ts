import type { ObservedInstance, ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { failureOf } from './pod-failure.ts';
import { CALL_PORT, FUNCTION_LABEL, REVISION_ANNOTATION, REVISION_LABEL } from './names.ts';
import { isLeaving, isPodReady, restartsOf, type Pod } from './pod.ts';
import { waitingReason, type Deployment } from './waiting-reason.ts';

/** The sources of a workload's state. */
interface WorkloadFacts {
  deployment: Deployment;
  /** Pods of the workload that do not belong to an earlier one of its name. */
  pods: readonly Pod[];
  /** Whether the pod's EndpointSlice says that it is ready. */
  endpointReady: (pod: Pod) => boolean;
  /** Whether its runtime has reported so itself, and nothing since contradicts it. */
  loaded: (pod: Pod) => boolean;
  /** What the kubelet last said about its volumes. */
  mountFailure: (pod: Pod) => string | undefined;
}

/** The state of a workload. Pure. */
export function observeWorkload(facts: WorkloadFacts): ObservedWorkload {
  const { deployment, pods } = facts;
  const { name, labels = {}, annotations = {} } = deployment.metadata;
  const revision = annotations[REVISION_ANNOTATION] ?? '';
  const present = pods.filter(
    (pod) => !isLeaving(pod) && pod.metadata.labels?.[REVISION_LABEL] === revision.slice(0, 63),
  );
  const instances = present.map((pod) => observeInstance(pod, facts));
  const base = {
    name,
    functionName: labels[FUNCTION_LABEL] ?? '',
    revision,
    replicas: deployment.spec?.replicas ?? 0,
    instances,
  };
  return { ...base, ...troubleOf(base, facts, present) };
}

/** What keeps instances from becoming ready: all of them, or the missing ones. */
function troubleOf(
  { instances, replicas }: ObservedWorkload,
  { deployment, mountFailure }: WorkloadFacts,
  pods: readonly Pod[],
): Pick<ObservedWorkload, 'failure' | 'waiting'> {
  const ready = instances.filter((instance) => instance.ready).length;
  if (ready > 0 && ready >= replicas) return {};
  const failure = ready > 0 ? undefined : failureOf(pods);
  const waiting = waitingReason(deployment, pods, mountFailure);
  return { ...(failure !== undefined && { failure }), ...(waiting !== undefined && { waiting }) };
}

/** A container that is restarted in its pod is another instance. */
function observeInstance(pod: Pod, { endpointReady, loaded }: WorkloadFacts): ObservedInstance {
  const id = `${pod.metadata.name}.${restartsOf(pod)}`;
  const host = pod.status?.podIP;
  if (host === undefined) return { id, ready: false };
  return { id, address: { host, port: CALL_PORT }, ready: loaded(pod) || (isPodReady(pod) && endpointReady(pod)) };
}

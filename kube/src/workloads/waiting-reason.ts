import type { KubeObject } from '../client/kube-object.ts';
import { containerOf, isLeaving, type Pod } from './pod.ts';

/** The part of a Deployment that is read, besides what we write. */
export interface Deployment extends KubeObject {
  spec?: { replicas?: number };
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

const BROKEN = /^(?:ErrImage|ImagePull|InvalidImage|CreateContainer|RunContainer)/;

/**
 * What keeps instances from starting, in a sentence for people: it is not the code's fault.
 * @param mountFailure what the kubelet last said about the volumes of a pod
 */
export function waitingReason(
  deployment: Deployment,
  pods: readonly Pod[],
  mountFailure: (pod: Pod) => string | undefined,
): string | undefined {
  const refused = deployment.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  if (refused !== undefined) return `Kubernetes rejects its pods: ${refused.message ?? 'it gives no reason'}.`;
  return pods
    .filter((pod) => !isLeaving(pod))
    .map((pod) => unscheduled(pod) ?? unmounted(pod, mountFailure) ?? broken(pod))
    .find((reason) => reason !== undefined);
}

function unscheduled({ metadata, status }: Pod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined;
  return `No node accepts the pod ${metadata.name}: ${scheduled.message ?? 'the scheduler gives no reason'}`;
}

/** Once its sandbox is there its volumes are, and what was said of them is past: the container waits for its image. */
function unmounted(pod: Pod, mountFailure: (pod: Pod) => string | undefined): string | undefined {
  const prepared = pod.status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers');
  if (containerOf(pod)?.state?.waiting?.reason !== 'ContainerCreating' || prepared?.status === 'True') return undefined;
  const failure = mountFailure(pod);
  return failure && `The volumes of the pod ${pod.metadata.name} cannot be mounted: ${failure}`;
}

function broken(pod: Pod): string | undefined {
  const waiting = containerOf(pod)?.state?.waiting;
  if (waiting?.reason === undefined || !BROKEN.test(waiting.reason)) return undefined;
  return `The container of the pod ${pod.metadata.name} cannot be started (${waiting.reason}): ${waiting.message ?? 'the kubelet gives no reason'}`;
}

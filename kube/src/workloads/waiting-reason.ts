import type { KubeObject } from '../client/kube-object.ts';
import { containerOf, isLeaving, type Pod } from './pod.ts';

/** A Deployment, as far as it is looked at beside what we write. */
export interface Deployment extends KubeObject {
  spec?: { replicas?: number };
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

const BROKEN = /^(?:ErrImage|ImagePull|InvalidImage|CreateContainer|RunContainer)/;

/** What keeps instances from even starting, in a sentence for people: it is not the code's fault. */
export function waitingReason(deployment: Deployment, pods: readonly Pod[]): string | undefined {
  const refused = deployment.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  if (refused !== undefined) return `Kubernetes refuses its pods: ${refused.message ?? 'it does not say why'}.`;
  return pods
    .filter((pod) => !isLeaving(pod))
    .map(podWaits)
    .find((reason) => reason !== undefined);
}

function podWaits(pod: Pod): string | undefined {
  return unscheduled(pod) ?? broken(pod);
}

function unscheduled({ metadata, status }: Pod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined;
  return `No node takes the pod ${metadata.name}: ${scheduled.message ?? 'the scheduler does not say why'}`;
}

function broken(pod: Pod): string | undefined {
  const waiting = containerOf(pod)?.state?.waiting;
  if (waiting?.reason === undefined || !BROKEN.test(waiting.reason)) return undefined;
  return `The container of the pod ${pod.metadata.name} cannot be started (${waiting.reason}): ${waiting.message ?? 'the kubelet does not say why'}`;
}

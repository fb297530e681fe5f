import type { KubeObject } from '../client/kube-object.ts';
import {
  CONTAINER_NAME,
  FUNCTION_LABEL,
  FUNCTION_UID_ANNOTATION,
  REVISION_ANNOTATION,
  WORKLOAD_LABEL,
} from './names.ts';

/** How a container ended. */
export interface Terminated {
  exitCode: number;
  reason?: string;
  message?: string;
  /** RFC 3339. */
  startedAt?: string;
  finishedAt?: string;
}

export interface ContainerStatus {
  name: string;
  restartCount: number;
  state?: { waiting?: { reason?: string; message?: string }; running?: object; terminated?: Terminated };
  lastState?: { terminated?: Terminated };
}

/** The conditions that are read. */
const CONDITIONS = ['Ready', 'PodScheduled', 'PodReadyToStartContainers'];

/** A pod, as far as it is used. */
export interface Pod extends KubeObject {
  status?: {
    phase?: string;
    podIP?: string;
    /** All of its addresses: one per family. */
    podIPs?: { ip: string }[];
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: ContainerStatus[];
  };
}

/** What a cache keeps of a pod: the rest is about ten kilobytes. */
export function keepPod(raw: Pod): Pod {
  const { name, uid, resourceVersion, labels, annotations = {}, deletionTimestamp } = raw.metadata;
  const kept = Object.fromEntries(
    [REVISION_ANNOTATION, FUNCTION_UID_ANNOTATION].flatMap((key) =>
      annotations[key] === undefined ? [] : [[key, annotations[key]]],
    ),
  );
  const { phase, podIP, podIPs, conditions, containerStatuses } = raw.status ?? {};
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      annotations: kept,
      ...(labels !== undefined && { labels }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    status: {
      ...(phase !== undefined && { phase }),
      ...(podIP !== undefined && { podIP }),
      ...(podIPs !== undefined && { podIPs }),
      ...(conditions !== undefined && {
        conditions: conditions.filter(({ type }) => CONDITIONS.includes(type)),
      }),
      ...(containerStatuses !== undefined && { containerStatuses }),
    },
  };
}

export function workloadOf(pod: Pod): string | undefined {
  return pod.metadata.labels?.[WORKLOAD_LABEL];
}

export function functionOf(pod: Pod): string | undefined {
  return pod.metadata.labels?.[FUNCTION_LABEL];
}

/** The runtime's container; undefined before the kubelet has reported it. */
export function containerOf(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === CONTAINER_NAME);
}

export function restartsOf(pod: Pod): number {
  return containerOf(pod)?.restartCount ?? 0;
}

/**
 * Terminating, or ended for good (evicted, its node shut down): it takes no calls any more, and another one replaces
 * it.
 */
export function isLeaving(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined || pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded'
  );
}

/** Whether the kubelet says that it is ready. */
export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

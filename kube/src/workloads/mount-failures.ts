import type { KubeObject } from '../client/kube-object.ts';

/** The events by which a kubelet says why a pod's volumes cannot be mounted: the pod's status does not say it. */
export const MOUNT_FAILURE_SELECTOR = 'involvedObject.kind=Pod,reason=FailedMount';

/** What is kept of such an event. */
export interface MountFailure extends KubeObject {
  pod: { name: string; uid: string };
  message: string;
}

interface Event extends KubeObject {
  involvedObject: { name?: string; uid?: string };
  message?: string;
}

export function keepMountFailure(raw: KubeObject): MountFailure {
  const { metadata, involvedObject, message = 'the kubelet gives no reason' } = raw as Event;
  const { name, uid, resourceVersion } = metadata;
  return {
    metadata: { name, uid, resourceVersion },
    pod: { name: involvedObject.name ?? '', uid: involvedObject.uid ?? '' },
    message,
  };
}

/** What kubelets last said about the volumes of pods, by the pod's uid. */
export class MountFailures {
  readonly #events = new Map<string, MountFailure>();
  readonly #ofPod = new Map<string, Set<string>>();

  /** Applies an event; undefined for one that is gone. @returns the name of its pod. */
  update(name: string, event: MountFailure | undefined): string | undefined {
    const before = this.#events.get(name);
    if (before !== undefined) this.#drop(name, before.pod.uid);
    if (event !== undefined) {
      this.#events.set(name, event);
      this.#ofPod.set(event.pod.uid, (this.#ofPod.get(event.pod.uid) ?? new Set()).add(name));
    }
    return (event ?? before)?.pod.name;
  }

  /** The newest: a kubelet counts the same cause again in its event. */
  of(podUid: string): string | undefined {
    const events = [...(this.#ofPod.get(podUid) ?? [])].flatMap((name) => this.#events.get(name) ?? []);
    return events.reduce<MountFailure | undefined>((a, b) => (a === undefined || isNewer(b, a) ? b : a), undefined)
      ?.message;
  }

  #drop(name: string, podUid: string): void {
    this.#events.delete(name);
    const events = this.#ofPod.get(podUid);
    events?.delete(name);
    if (events?.size === 0) this.#ofPod.delete(podUid);
  }
}

function isNewer(a: MountFailure, b: MountFailure): boolean {
  return BigInt(a.metadata.resourceVersion) > BigInt(b.metadata.resourceVersion);
}

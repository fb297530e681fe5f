import { containerOf, isLeaving, isPodReady, restartsOf, type Pod } from './pod.ts';

interface Mark {
  restarts: number;
  /** The kubelet has said that it is ready: from then on, its word counts against the mark. */
  confirmed: boolean;
}

/**
 * Pods whose runtime has said itself, over the feed, that it takes calls. They need not wait for the kubelet's rhythm of
 * a second and for what follows it; once both say ready, their word alone counts.
 */
export class LoadedMarks {
  /** By the pod's uid. */
  readonly #marks = new Map<string, Mark>();

  /** @returns whether it says anything new. */
  add(pod: Pod): boolean {
    if (isLeaving(pod) || this.#marks.has(pod.metadata.uid)) return false;
    this.#marks.set(pod.metadata.uid, { restarts: restartsOf(pod), confirmed: isPodReady(pod) });
    return true;
  }

  /** Looks at a pod's newest state; drops a mark that no longer holds. */
  update(pod: Pod, endpointReady: boolean): void {
    const mark = this.#marks.get(pod.metadata.uid);
    if (mark === undefined) return;
    const ready = isPodReady(pod);
    const agreed = ready && endpointReady;
    const refuted = mark.confirmed && !ready;
    if (agreed || refuted || hasEnded(pod, mark)) this.#marks.delete(pod.metadata.uid);
    else mark.confirmed = ready;
  }

  forget(uid: string): void {
    this.#marks.delete(uid);
  }

  has(pod: Pod): boolean {
    return this.#marks.has(pod.metadata.uid);
  }
}

/** The container that said so. */
function hasEnded(pod: Pod, { restarts }: Mark): boolean {
  return isLeaving(pod) || restartsOf(pod) !== restarts || containerOf(pod)?.state?.terminated !== undefined;
}

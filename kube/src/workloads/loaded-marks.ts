import { isLeaving, isPodReady, type Pod } from './pod.ts';

interface Mark {
  /** The kubelet has said that it is ready: from then on, its word counts against the mark. */
  confirmed: boolean;
}

/**
 * Pods whose runtime has said itself, over a connection that is still there, that it takes calls. They need not wait for
 * the kubelet's rhythm of a second and for what follows it; once pod and endpoint say ready, their word alone counts. That a
 * container has ended shows in its connection: the kubelet tells of it when the next one may be running already.
 */
export class LoadedMarks {
  /** By the pod's uid. */
  readonly #marks = new Map<string, Mark>();

  /** @returns what takes the mark back, where it is still the pod's. */
  add(pod: Pod): () => void {
    const { uid } = pod.metadata;
    const mark = { confirmed: isPodReady(pod) };
    this.#marks.set(uid, mark);
    return () => {
      if (this.#marks.get(uid) === mark) this.#marks.delete(uid);
    };
  }

  /** Looks at a pod's newest state; drops a mark that no longer holds. */
  update(pod: Pod, endpointReady: boolean): void {
    const mark = this.#marks.get(pod.metadata.uid);
    if (mark === undefined) return;
    const ready = isPodReady(pod);
    const agreed = ready && endpointReady;
    const refuted = mark.confirmed && !ready;
    if (agreed || refuted || isLeaving(pod)) this.#marks.delete(pod.metadata.uid);
    else mark.confirmed = ready;
  }

  forget(uid: string): void {
    this.#marks.delete(uid);
  }

  has(pod: Pod): boolean {
    return this.#marks.has(pod.metadata.uid);
  }
}

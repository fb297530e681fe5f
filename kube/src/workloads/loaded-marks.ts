import type { Clock } from '@wherry/core/ports/clock.ts';
import { isLeaving, isPodReady, type Pod } from './pod.ts';

/** The kubelet's news of a container have come by then. */
const LATE_NEWS_MS = 30_000;

interface Mark {
  since: number;
  /** The pod was seen not ready: what it says from then on is said of this container, not of one before it. */
  fresh: boolean;
  /** The kubelet has said that it is ready: from then on, its word counts against the mark. */
  confirmed: boolean;
}

/**
 * Pods whose runtime has said itself, over a connection that is still there, that it takes calls. They need not wait
 * for the kubelet's rhythm of a second and for what follows it; once pod and endpoint say ready, their word alone
 * counts. That a container has ended shows in its connection: the kubelet reports it when the next one may be running
 * already.
 */
export class LoadedMarks {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By the pod's uid. */
  readonly #marks = new Map<string, Mark>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @returns what takes the mark back, where it is still the pod's. */
  add(pod: Pod): () => void {
    const { uid } = pod.metadata;
    const mark: Mark = { since: this.#clock.monotonic(), fresh: !isPodReady(pod), confirmed: false };
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
    if (isLeaving(pod) || this.#isDecided(mark, ready, endpointReady)) this.#marks.delete(pod.metadata.uid);
    mark.confirmed = mark.fresh && ready;
    mark.fresh ||= !ready;
  }

  /** Whether pod and endpoint speak for themselves now. */
  #isDecided({ since, fresh, confirmed }: Mark, ready: boolean, endpointReady: boolean): boolean {
    const agreed = fresh && ready && endpointReady;
    const refuted = confirmed && !ready;
    return agreed || refuted || this.#clock.monotonic() - since > LATE_NEWS_MS;
  }

  forget(uid: string): void {
    this.#marks.delete(uid);
  }

  has(pod: Pod): boolean {
    return this.#marks.has(pod.metadata.uid);
  }
}

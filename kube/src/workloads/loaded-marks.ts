import type { Clock } from '@wherry/core/ports/clock.ts';
import { isLeaving, isPodReady, type Pod } from './pod.ts';

/** By then the kubelet has reported the state of the container. */
const LATE_NEWS_MS = 30_000;

interface Mark {
  since: number;
  /** The pod was seen not ready: what is reported from then on is about this container, not an earlier one. */
  fresh: boolean;
  /** The kubelet has said that it is ready: from then on, its report overrides the mark. */
  confirmed: boolean;
}

/**
 * Pods whose runtime has reported, over a connection that is still open, that it takes calls. They need not wait for
 * the kubelet's interval of a second and what follows it; once pod and endpoint are ready, only their state counts.
 * That a container has ended shows in its connection: the kubelet reports it when the next one may be running already.
 */
export class LoadedMarks {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By the pod's uid. */
  readonly #marks = new Map<string, Mark>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @returns a function that removes the mark, if the pod still has it. */
  add(pod: Pod): () => void {
    const { uid } = pod.metadata;
    const mark: Mark = { since: this.#clock.monotonic(), fresh: !isPodReady(pod), confirmed: false };
    this.#marks.set(uid, mark);
    return () => {
      if (this.#marks.get(uid) === mark) this.#marks.delete(uid);
    };
  }

  /** Checks a pod's newest state; drops a mark that is no longer valid. */
  update(pod: Pod, endpointReady: boolean): void {
    const mark = this.#marks.get(pod.metadata.uid);
    if (mark === undefined) return;
    const ready = isPodReady(pod);
    if (isLeaving(pod) || this.#isDecided(mark, ready, endpointReady)) this.#marks.delete(pod.metadata.uid);
    mark.confirmed = mark.fresh && ready;
    mark.fresh ||= !ready;
  }

  /** Whether the states of pod and endpoint are reliable now. */
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

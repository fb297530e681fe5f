import type { KubeObject } from '../client/kube-object.ts';

interface Endpoint {
  conditions?: { ready?: boolean | null; terminating?: boolean | null };
  targetRef?: { kind?: string; name?: string };
}

export interface EndpointSlice extends KubeObject {
  endpoints?: Endpoint[] | null;
}

/** The state of pods in EndpointSlices, by the pod's name. */
export class Endpoints {
  readonly #ready = new Map<string, boolean>();
  readonly #podsOf = new Map<string, string[]>();

  /** Applies a slice; undefined for one that is gone. @returns the pods of which something changed. */
  update(name: string, slice: EndpointSlice | undefined): string[] {
    const before = new Map((this.#podsOf.get(name) ?? []).map((pod) => [pod, this.#ready.get(pod)]));
    for (const pod of before.keys()) this.#ready.delete(pod);
    const after = (slice?.endpoints ?? []).flatMap(({ targetRef, conditions }): [string, boolean][] => {
      if (targetRef?.kind !== 'Pod' || targetRef.name === undefined) return [];
      // Absent means unknown, which the API defines as ready.
      return [[targetRef.name, conditions?.ready !== false && conditions?.terminating !== true]];
    });
    for (const [pod, ready] of after) this.#ready.set(pod, ready);
    if (slice === undefined) this.#podsOf.delete(name);
    else
      this.#podsOf.set(
        name,
        after.map(([pod]) => pod),
      );
    return [...new Set([...before.keys(), ...after.map(([pod]) => pod)])].filter(
      (pod) => before.get(pod) !== this.#ready.get(pod),
    );
  }

  /** False too for a pod that is in no slice. */
  isReady(pod: string): boolean {
    return this.#ready.get(pod) === true;
  }
}

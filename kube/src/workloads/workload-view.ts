import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { DesiredWorkload, ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import { Endpoints } from './endpoints.ts';
import { LoadedMarks } from './loaded-marks.ts';
import { MountFailures } from './mount-failures.ts';
import { FUNCTION_LABEL, WORKLOAD_LABEL } from './names.ts';
import { observeWorkload } from './observe-workload.ts';
import { functionOf, isLeaving, workloadOf, type Pod } from './pod.ts';
import type { Deployment } from './waiting-reason.ts';
import type { WorkloadCaches } from './workload-caches.ts';

/** What runs, read from the caches; each workload is computed again only when something of it has changed. */
export class WorkloadView {
  readonly #caches: WorkloadCaches;
  readonly #logger: Logger;
  readonly #pods = new Map<string, Map<string, Pod>>();
  readonly #endpoints = new Endpoints();
  readonly #mountFailures = new MountFailures();
  readonly #marks: LoadedMarks;
  /** Uids of pods that belong to a removed workload, and not to a later one of its name. */
  readonly #going = new Set<string>();
  /** Workloads that are not as they should be until a person changes something, and why; some of them run. */
  readonly #blocked = new Map<string, { desired: DesiredWorkload; waiting: string }>();
  readonly #observed = new Map<string, ObservedWorkload>();
  /** The problem of a workload's pods, as it was logged last. */
  readonly #reported = new Map<string, string>();
  readonly #listeners: Listeners<[name: string, functionName: string]>;

  constructor({ caches, clock, logger }: { caches: WorkloadCaches; clock: Clock; logger: Logger }) {
    this.#caches = caches;
    this.#logger = logger;
    this.#marks = new LoadedMarks(clock);
    this.#listeners = new Listeners((error, [name]) =>
      logger.error({ err: error, workload: name }, 'a listener for changes of workloads threw'),
    );
    // For one that is gone, the cache no longer shows its owner.
    const functionNames = new Map<string, string | undefined>();
    caches.deployments.onChange((name, deployment) => {
      const functionName = deployment?.metadata.labels?.[FUNCTION_LABEL] ?? functionNames.get(name);
      if (deployment === undefined) {
        functionNames.delete(name);
        this.#reported.delete(name);
      } else functionNames.set(name, functionName);
      this.changed(name, functionName);
    });
    const known = new Map<string, Pod>();
    caches.pods.onChange((name, pod) => {
      this.#takePod(known.get(name), pod);
      if (pod === undefined) known.delete(name);
      else known.set(name, pod);
    });
    caches.slices.onChange((name, slice) => {
      for (const pod of this.#endpoints.update(name, slice)) this.#takeAgain(pod);
    });
    caches.mountFailures.onChange((name, event) => {
      const pod = this.#mountFailures.update(name, event);
      if (pod !== undefined) this.#takeAgain(pod);
    });
  }

  list(): ObservedWorkload[] {
    const running = this.#caches.owned.deployment
      .list()
      .filter(isWorkload)
      .map((deployment) => this.#observe(deployment));
    const names = new Set(running.map(({ name }) => name));
    const blocked = [...this.#blocked.values()]
      .filter(({ desired }) => !names.has(desired.name))
      .map(({ desired, waiting }) => {
        const { name, functionName, revision, replicas } = desired;
        return { name, functionName, revision, replicas, instances: [], waiting };
      });
    return [...running, ...blocked].map(copy);
  }

  watch(onChange: (name: string, functionName: string) => void): () => void {
    return this.#listeners.add(onChange);
  }

  /** The runtime in this pod has said that it takes calls. @returns to be called when its connection has ended. */
  markLoaded(podName: string): () => void {
    const pod = this.#caches.pods.get(podName);
    if (pod === undefined || isLeaving(pod)) return () => undefined;
    const unmark = this.#marks.add(pod);
    this.#takePod(pod, pod);
    return () => {
      unmark();
      this.#takeAgain(podName);
    };
  }

  /** Its pods do not belong to a later workload of its name. */
  letGo(name: string): void {
    for (const { metadata } of this.podsOf(name)) this.#going.add(metadata.uid);
  }

  podsOf(name: string): Pod[] {
    return [...(this.#pods.get(name)?.values() ?? [])];
  }

  /**
   * @param waiting why the workload cannot be brought to its desired state; undefined when nothing prevents it any
   *   more.
   */
  block(desired: DesiredWorkload, waiting: string | undefined): void {
    const before = this.#blocked.get(desired.name)?.waiting;
    if (waiting === undefined) this.#blocked.delete(desired.name);
    else this.#blocked.set(desired.name, { desired, waiting });
    if (before === waiting) return;
    if (waiting !== undefined) this.#logger.warn({ workload: desired.name, function: desired.functionName }, waiting);
    this.changed(desired.name, desired.functionName);
  }

  isBlocked(name: string): boolean {
    return this.#blocked.has(name);
  }

  unblock(name: string): void {
    this.#blocked.delete(name);
  }

  /** Notifies later, so that a listener may call back into here. */
  changed(name: string, functionName: string | undefined): void {
    const known = functionName ?? this.#observed.get(name)?.functionName;
    this.#observed.delete(name);
    if (known === undefined) return;
    queueMicrotask(() => this.#listeners.notify(name, known));
  }

  /** Something that is observed with the pod has changed. */
  #takeAgain(podName: string): void {
    const pod = this.#caches.pods.get(podName);
    if (pod !== undefined) this.#takePod(pod, pod);
  }

  #takePod(before: Pod | undefined, pod: Pod | undefined): void {
    const either = pod ?? before;
    const workload = either && workloadOf(either);
    if (either === undefined || workload === undefined) return;
    const { uid } = either.metadata;
    if (before !== undefined && (pod === undefined || before.metadata.uid !== pod.metadata.uid)) this.#forget(before);
    if (pod !== undefined) {
      this.#pods.set(workload, (this.#pods.get(workload) ?? new Map<string, Pod>()).set(uid, pod));
      this.#marks.update(pod, this.#endpoints.isReady(pod.metadata.name));
    }
    this.changed(workload, functionOf(either));
  }

  #forget(pod: Pod): void {
    const { uid } = pod.metadata;
    this.#marks.forget(uid);
    this.#going.delete(uid);
    const name = workloadOf(pod) ?? '';
    this.#pods.get(name)?.delete(uid);
    if (this.#pods.get(name)?.size === 0) this.#pods.delete(name);
  }

  #observe(deployment: Deployment): ObservedWorkload {
    const { name } = deployment.metadata;
    const known = this.#observed.get(name);
    if (known !== undefined) return known;
    const pods = this.podsOf(name).filter(({ metadata }) => !this.#going.has(metadata.uid));
    const endpointReady = (pod: Pod): boolean => this.#endpoints.isReady(pod.metadata.name);
    const loaded = (pod: Pod): boolean => this.#marks.has(pod);
    const mountFailure = (pod: Pod): string | undefined => this.#mountFailures.of(pod.metadata.uid);
    const observed = observeWorkload({ deployment, pods, endpointReady, loaded, mountFailure });
    const waiting = this.#blocked.get(name)?.waiting;
    const whole = waiting === undefined ? observed : { ...observed, waiting };
    this.#observed.set(name, whole);
    // The cause was logged when it began.
    this.#logTrouble(observed);
    return whole;
  }

  /** Once for each problem: the service itself cannot fix its pods. */
  #logTrouble({ name, functionName, waiting }: ObservedWorkload): void {
    if (waiting === this.#reported.get(name)) return;
    if (waiting === undefined) {
      this.#reported.delete(name);
      return;
    }
    this.#reported.set(name, waiting);
    this.#logger.warn({ workload: name, function: functionName }, `Instances do not start. ${waiting}`);
  }
}

function isWorkload({ metadata }: Deployment): boolean {
  return metadata.labels?.[WORKLOAD_LABEL] === metadata.name && metadata.deletionTimestamp === undefined;
}

/** Callers may do with it what they like. */
function copy({ instances, failure, ...rest }: ObservedWorkload): ObservedWorkload {
  return {
    ...rest,
    instances: instances.map(({ address, ...instance }) => ({
      ...instance,
      ...(address !== undefined && { address: { ...address } }),
    })),
    ...(failure !== undefined && { failure: { ...failure } }),
  };
}

import type {
  DesiredWorkload,
  ObservedInstance,
  ObservedWorkload,
  WorkloadFailure,
  Workloads,
} from '@wherry/core/ports/workloads.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';

/** A call that runs in an instance. */
interface FakeCall {
  finish(): void;
  /** `cut` when the instance died first. */
  ended: Promise<'answered' | 'cut'>;
}

interface FakeInstance extends ObservedInstance {
  calls: Set<(end: 'answered' | 'cut') => void>;
}

interface Running {
  desired: DesiredWorkload;
  instances: FakeInstance[];
  failure?: WorkloadFailure;
  waiting?: string;
}

/** Workloads without processes: a test decides which instances become ready, fail and die. */
export class FakeWorkloads implements Workloads {
  /** The requests, in order. */
  readonly requests: ({ ensure: DesiredWorkload } | { remove: string })[] = [];
  /** With `automatic`: false for instances that come from now on not to get ready by themselves. */
  startsAtOnce = true;
  readonly #running = new Map<string, Running>();
  readonly #watchers = new Set<(name: string, functionName: string) => void>();
  readonly #broken = new Map<Digest, WorkloadFailure>();
  readonly #automatic: boolean;
  #count = 0;
  #refusal: Error | undefined;

  /** @param automatic instances get ready by themselves, unless `breakRevision` named theirs. */
  constructor({ automatic = false }: { automatic?: boolean } = {}) {
    this.#automatic = automatic;
  }

  async ensure(desired: DesiredWorkload): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.requests.push({ ensure: structuredClone(desired) });
    const running = this.#running.get(desired.name) ?? { desired, instances: [] };
    const same = this.#running.has(desired.name) && running.desired.replicas === desired.replicas;
    running.desired = structuredClone(desired);
    this.#running.set(desired.name, running);
    if (!same) this.#fill(desired.name);
  }

  async remove(name: string): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.requests.push({ remove: name });
    const running = this.#running.get(name);
    // Only running calls still refer to their instance: nothing lists it any more, and they finish.
    if (running !== undefined && this.#running.delete(name)) this.#notify(running);
  }

  list(): ObservedWorkload[] {
    return [...this.#running.values()].map(({ desired, instances, failure, waiting }) => ({
      name: desired.name,
      functionName: desired.functionName,
      revision: desired.revision,
      replicas: desired.replicas,
      instances: instances.map(({ id, address, ready }) => ({
        id,
        ready,
        ...(address === undefined ? {} : { address: { ...address } }),
      })),
      ...(failure === undefined ? {} : { failure: { ...failure } }),
      ...(waiting === undefined ? {} : { waiting }),
    }));
  }

  watch(onChange: (name: string, functionName: string) => void): () => void {
    const watcher = (name: string, functionName: string): void => onChange(name, functionName);
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Makes `ensure` and `remove` reject with this error, until it is called with undefined. */
  refuse(error: Error | undefined): void {
    this.#refusal = error;
  }

  /** Makes this many instances of a workload ready, or all when no number is given. */
  markReady(name: string, count = Infinity): void {
    const running = this.#find(name);
    for (const instance of running.instances.filter(({ ready }) => !ready).slice(0, count)) this.#start(instance);
    delete running.failure;
    delete running.waiting;
    this.#notify(running);
  }

  /** No instance of the workload gets ready, for this reason. */
  fail(name: string, failure: WorkloadFailure): void {
    const running = this.#find(name);
    running.failure = failure;
    for (const instance of running.instances) instance.ready = false;
    this.#notify(running);
  }

  /** Something keeps the workload's instances from starting; `markReady` ends it. */
  hold(name: string, waiting: string): void {
    const running = this.#find(name);
    running.waiting = waiting;
    for (const instance of running.instances) instance.ready = false;
    this.#notify(running);
  }

  /** With `automatic`: workloads of this revision fail. */
  breakRevision(revision: Digest, failure: WorkloadFailure): void {
    this.#broken.set(revision, failure);
  }

  /** Ends an instance as a crash does: its calls are cut, and another one takes its place. */
  kill(instanceId: string): void {
    for (const running of this.#running.values()) {
      const dead = running.instances.find(({ id }) => id === instanceId);
      if (dead === undefined) continue;
      for (const end of dead.calls) end('cut');
      running.instances = running.instances.filter((instance) => instance !== dead);
      this.#notify(running);
      this.#fill(running.desired.name);
      return;
    }
    throw new Error(`there is no instance ${instanceId}`);
  }

  /** Begins a call in an instance. */
  call(instanceId: string): FakeCall {
    const instances = [...this.#running.values()].flatMap((running) => running.instances);
    const instance = instances.find(({ id }) => id === instanceId);
    if (instance === undefined) throw new Error(`there is no instance ${instanceId}`);
    const { promise, resolve } = Promise.withResolvers<'answered' | 'cut'>();
    instance.calls.add(resolve);
    return { finish: () => resolve('answered'), ended: promise };
  }

  #fill(name: string): void {
    const running = this.#find(name);
    const { replicas } = running.desired;
    running.instances.length = Math.min(running.instances.length, replicas);
    while (running.instances.length < replicas) {
      this.#count += 1;
      running.instances.push({ id: `${name}-${this.#count}`, ready: false, calls: new Set() });
    }
    this.#notify(running);
    if (this.#automatic && this.startsAtOnce) queueMicrotask(() => this.#finishStart(running));
  }

  #finishStart(running: Running): void {
    const { name, revision } = running.desired;
    if (!this.#running.has(name)) return;
    const failure = this.#broken.get(revision);
    if (failure === undefined) this.markReady(name);
    else this.fail(name, failure);
  }

  #start(instance: FakeInstance): void {
    instance.address = { path: `/run/fake/${instance.id}.sock` };
    instance.ready = true;
  }

  #find(name: string): Running {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`there is no workload ${name}`);
    return running;
  }

  #notify({ desired }: Running): void {
    for (const watcher of this.#watchers) watcher(desired.name, desired.functionName);
  }
}

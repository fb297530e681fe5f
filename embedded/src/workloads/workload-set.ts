import type { Gauge } from '@wherry/core/ports/metrics.ts';
import type { DesiredWorkload, ObservedWorkload, Workloads } from '@wherry/core/ports/workloads.ts';
import type { WorkloadParts } from './workload.ts';
import { Workload } from './workload.ts';

type Listener = (name: string, functionName: string) => void;

/** All workloads by name, and those that drain after they were removed. */
export class WorkloadSet implements Workloads {
  readonly #parts: WorkloadParts;
  readonly #workloads = new Map<string, Workload>();
  /** Removed ones, and when they are gone. */
  readonly #leaving = new Map<Workload, Promise<void>>();
  readonly #listeners = new Set<Listener>();
  #stopped = false;

  constructor(parts: WorkloadParts) {
    this.#parts = parts;
  }

  async ensure(desired: DesiredWorkload): Promise<void> {
    if (this.#stopped) throw new Error('The service is stopping: it starts no more instances.');
    const { name, functionName } = desired;
    const existing = this.#workloads.get(name);
    if (existing !== undefined) {
      existing.update(desired);
      return;
    }
    this.#workloads.set(name, new Workload(desired, this.#parts, () => this.#changed(name, functionName)));
    this.#changed(name, functionName);
  }

  async remove(name: string): Promise<void> {
    const workload = this.#workloads.get(name);
    if (workload === undefined) return;
    this.#workloads.delete(name);
    const gone = workload.drain().gone.then(() => void this.#leaving.delete(workload));
    this.#leaving.set(workload, gone);
    this.#changed(name, workload.observe().functionName);
  }

  list(): ObservedWorkload[] {
    return [...this.#workloads.values()].map((workload) => workload.observe());
  }

  watch(onChange: Listener): () => void {
    const listener: Listener = (name, functionName) => onChange(name, functionName);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Looks after every instance, and counts them. */
  check(elapsedMs: number, replicas: Gauge): void {
    const counts = { starting: 0, ready: 0, draining: 0, ended: 0 };
    for (const workload of [...this.#workloads.values(), ...this.#leaving.keys()]) {
      for (const instance of workload.instances()) {
        instance.check(elapsedMs);
        counts[instance.state] += 1;
      }
    }
    for (const state of ['starting', 'ready', 'draining'] as const) replicas.set(counts[state], { state });
  }

  /** Drains all at once. Resolves when no process is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const name of [...this.#workloads.keys()]) void this.remove(name);
    await Promise.all(this.#leaving.values());
  }

  /** Notifies later, so that a listener may call back into here. */
  #changed(name: string, functionName: string): void {
    queueMicrotask(() => {
      for (const listener of this.#listeners) {
        try {
          listener(name, functionName);
        } catch (error) {
          this.#parts.logger.error({ err: error, workload: name }, 'A listener for changes of workloads threw.');
        }
      }
    });
  }
}

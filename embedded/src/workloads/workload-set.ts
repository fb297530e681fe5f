import type { Gauge } from '@wherry/core/ports/metrics.ts';
import type { DesiredWorkload, ObservedWorkload, Workloads } from '@wherry/core/ports/workloads.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import { repeat } from './repeat.ts';
import type { Spares } from './spares.ts';
import type { WorkloadParts } from './workload.ts';
import { Workload } from './workload.ts';

interface WorkloadSetParts extends WorkloadParts {
  spares: Spares;
  /** Label `state`. */
  processes: Gauge;
}

/** All workloads by name, and removed ones that are still draining. Checks their instances again and again. */
export class WorkloadSet implements Workloads {
  readonly #parts: WorkloadSetParts;
  readonly #workloads = new Map<string, Workload>();
  /** Removed ones, and when they are gone. */
  readonly #leaving = new Map<Workload, Promise<void>>();
  readonly #listeners: Listeners<[name: string, functionName: string]>;
  /** Changed workloads, with their functions. */
  readonly #unreported = new Map<string, string>();
  readonly #cancelChecks: () => void;
  #stopped = false;

  constructor(parts: WorkloadSetParts) {
    this.#parts = parts;
    this.#listeners = new Listeners((error, [name]) =>
      parts.logger.error({ err: error, workload: name }, 'a listener for changes of workloads threw'),
    );
    this.#cancelChecks = repeat(parts.clock, parts.limits.checkMs, (elapsedMs) => this.#check(elapsedMs));
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

  watch(onChange: (name: string, functionName: string) => void): () => void {
    return this.#listeners.add(onChange);
  }

  /** Drains all at once. Resolves when no process is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const name of [...this.#workloads.keys()]) void this.remove(name);
    await Promise.all([...this.#leaving.values(), this.#parts.spares.stop()]);
    this.#cancelChecks();
  }

  /** Checks every instance, and counts them. */
  #check(elapsedMs: number): void {
    const { processes, spares } = this.#parts;
    const counts = { starting: 0, ready: 0, draining: 0, ended: 0 };
    for (const workload of [...this.#workloads.values(), ...this.#leaving.keys()]) {
      for (const instance of workload.instances()) {
        instance.check(elapsedMs);
        counts[instance.state] += 1;
      }
    }
    for (const state of ['starting', 'ready', 'draining'] as const) processes.set(counts[state], { state });
    processes.set(spares.count(), { state: 'spare' });
  }

  /** Notifies later, once of all that happens until then, so that a listener may call back into here. */
  #changed(name: string, functionName: string): void {
    if (this.#unreported.size === 0) queueMicrotask(() => this.#report());
    this.#unreported.set(name, functionName);
  }

  #report(): void {
    const changed = [...this.#unreported];
    this.#unreported.clear();
    for (const [name, functionName] of changed) this.#listeners.notify(name, functionName);
  }
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter } from '@wherry/core/ports/metrics.ts';
import type { RuntimeFeed } from '@wherry/core/ports/runtime-feed.ts';
import type { DesiredWorkload, ObservedWorkload, WorkloadFailure } from '@wherry/core/ports/workloads.ts';
import type { InstanceEnd } from './instance.ts';
import { Instance } from './instance.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { restartDelay } from './restart-delay.ts';
import type { RuntimeProcess } from './runtime-process.ts';
import type { Spares } from './spares.ts';
import type { StartQueue } from './start-queue.ts';

/** What all workloads share. */
export interface WorkloadParts {
  spares: Pick<Spares, 'obtain'>;
  starts: StartQueue;
  feed: RuntimeFeed;
  clock: Clock;
  /** 0 to 1, as Math.random: spreads restarts. */
  random: () => number;
  logger: Logger;
  limits: InstanceLimits;
  coldStarts: Counter;
  deaths: Counter;
}

/** This many deaths in a row are a crash loop. */
const CRASH_LOOP = 3;
/** The maximum characters in a log line of the service that a function may have written. */
const MAX_SUMMARY = 1000;

/** Keeps the desired number of a workload's instances: starts, replaces with backoff, drains. */
export class Workload {
  readonly #parts: WorkloadParts;
  #onChange: () => void;
  readonly #instances = new Set<Instance>();
  readonly #leaving = new Set<Promise<void>>();
  #desired: DesiredWorkload;
  /** Starts that wait for their turn. */
  #queued = 0;
  #deathsInRow = 0;
  #failure: WorkloadFailure | undefined;
  #cancelRestart: (() => void) | undefined;

  constructor(desired: DesiredWorkload, parts: WorkloadParts, onChange: () => void) {
    this.#desired = desired;
    this.#parts = parts;
    this.#onChange = onChange;
    this.#fill();
  }

  observe(): ObservedWorkload {
    const { name, functionName, revision, replicas } = this.#desired;
    const instances = [...this.#instances].map((instance) => instance.observe());
    const base = { name, functionName, revision, replicas, instances };
    return this.#failure === undefined ? base : { ...base, failure: { ...this.#failure } };
  }

  /** All instances, including those that are ending. */
  instances(): Iterable<Instance> {
    return this.#instances;
  }

  /** Applies a new number of instances and drain time; everything else is fixed by the name. */
  update(desired: DesiredWorkload): void {
    const changed = desired.replicas !== this.#desired.replicas;
    this.#desired = desired;
    if (!changed) return;
    this.#trim();
    this.#fill();
    this.#onChange();
  }

  /**
   * Drains every instance and starts no more; from now on its changes are not reported. `gone` resolves when none is
   * left.
   */
  drain(): { gone: Promise<void> } {
    this.#cancelRestart?.();
    this.#onChange = () => undefined;
    this.update({ ...this.#desired, replicas: 0 });
    return { gone: Promise.all(this.#leaving).then(() => undefined) };
  }

  #active(): Instance[] {
    return [...this.#instances].filter(({ state }) => state === 'starting' || state === 'ready');
  }

  #fill(): void {
    if (this.#cancelRestart !== undefined) return;
    while (this.#active().length + this.#queued < this.#desired.replicas) {
      this.#queued += 1;
      this.#parts.starts.add(() => this.#start());
    }
  }

  /** Instances that are not ready are removed first, then the youngest. */
  #trim(): void {
    const order = this.#active().reverse();
    order.sort((a, b) => Number(a.state === 'ready') - Number(b.state === 'ready'));
    for (const instance of order.slice(0, Math.max(0, order.length - this.#desired.replicas))) {
      instance.drain(this.#desired.drainSeconds);
    }
  }

  /** Resolves when the instance is ready or gone. */
  async #start(): Promise<void> {
    this.#queued -= 1;
    if (this.#active().length >= this.#desired.replicas) return;
    let process: RuntimeProcess;
    try {
      process = this.#parts.spares.obtain(this.#desired.template.memoryMiB);
    } catch (error) {
      const message = `The instance could not be started: ${error instanceof Error ? error.message : String(error)}.`;
      this.#died({ cause: 'exit', reason: 'CrashLoop', message, readyMs: undefined });
      return;
    }
    await this.#adopt(process);
  }

  #adopt(process: RuntimeProcess): Promise<void> {
    const { name, functionName, revision } = this.#desired;
    const started = Promise.withResolvers<undefined>();
    const identity = {
      instanceId: `${name}-${process.folder.id}`,
      workload: name,
      functionName,
      revision,
      listen: { path: process.folder.socket },
    };
    const onChange = (): void => {
      started.resolve(undefined);
      this.#changed(instance);
    };
    const instance = new Instance(process, identity, { ...this.#parts, onChange });
    this.#instances.add(instance);
    this.#parts.coldStarts.inc();
    const leaving = instance.ended.then(async (end) => {
      started.resolve(undefined);
      this.#instances.delete(instance);
      if (end.cause === 'drained') this.#onChange();
      else this.#died(end);
      await process.gone;
      this.#leaving.delete(leaving);
    });
    this.#leaving.add(leaving);
    this.#onChange();
    return started.promise;
  }

  #changed(instance: Instance): void {
    if (instance.state === 'ready') this.#failure = undefined;
    this.#onChange();
  }

  #died(end: InstanceEnd): void {
    const { limits, logger, deaths } = this.#parts;
    const stable = end.readyMs !== undefined && end.readyMs >= limits.stableMs;
    this.#deathsInRow = stable ? 1 : this.#deathsInRow + 1;
    this.#failure = this.#failureAfter(end) ?? this.#failure;
    deaths.inc({ cause: end.cause });
    const [summary = ''] = end.message.split('\n');
    const { name, functionName } = this.#desired;
    logger.warn(
      { workload: name, function: functionName, cause: end.cause },
      (end.cause === 'failed' ? `An instance could not load the code. ${summary}` : summary).slice(0, MAX_SUMMARY),
    );
    if (this.#desired.replicas > 0 && this.#cancelRestart === undefined) this.#fillLater(end);
    this.#onChange();
  }

  #fillLater(end: InstanceEnd): void {
    const delay = restartDelay(this.#deathsInRow, end.readyMs !== undefined, this.#parts.random());
    if (delay === 0) {
      this.#fill();
      return;
    }
    this.#cancelRestart = this.#parts.clock.after(delay, () => {
      this.#cancelRestart = undefined;
      this.#fill();
    });
  }

  #failureAfter(end: InstanceEnd): WorkloadFailure | undefined {
    if (end.reason !== 'CrashLoop') return { reason: end.reason, message: end.message };
    if (this.#deathsInRow < CRASH_LOOP) return undefined;
    return { reason: 'CrashLoop', message: `Instances ended ${this.#deathsInRow} times in a row. ${end.message}` };
  }
}

import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { LeftoverSweeper } from './leftover-sweeper.ts';
import { feedSecretName, FUNCTION_LABEL, FUNCTION_UID_ANNOTATION, serviceName } from './names.ts';
import { NotOursError } from './owned-objects.ts';
import type { WorkloadCaches } from './workload-caches.ts';
import { WorkloadObjectWriter } from './workload-object-writer.ts';
import type { WorkloadSettings } from './workload-settings.ts';
import type { WorkloadView } from './workload-view.ts';

/**
 * Foreign edits are reverted within 10 s (K2), also those of a program that repeats them. A workload without foreign
 * edits for a minute is again repaired at once.
 */
const REPAIRS = { firstMs: 50, lastMs: 6000, healthyMs: 60_000 };

interface WorkloadWriterOptions {
  settings: WorkloadSettings;
  caches: WorkloadCaches;
  view: WorkloadView;
  /** The feed token of a function, by its uid. */
  tokenOf: (functionUid: string) => string;
  /** Whether this replica may write on its own initiative. */
  leads: () => boolean;
  clock: Clock;
  logger: Logger;
}

interface Repair {
  backoff: Backoff;
  at: number;
  cancel: (() => void) | undefined;
}

/** Creates the objects of workloads, maintains them while there is a Deployment, and removes them. */
export class WorkloadWriter {
  readonly #options: WorkloadWriterOptions;
  readonly #objects: WorkloadObjectWriter;
  readonly #sweeper: LeftoverSweeper;
  readonly #desired = new Map<string, DesiredWorkload>();
  /** Which workloads have an object of the name, of whatever kind. */
  readonly #usersOf = new Map<string, Set<string>>();
  /** The writes of a workload come one after the other. */
  readonly #writes = new KeyedLock();
  readonly #repairs = new Map<string, Repair>();
  #stopped = false;

  constructor(options: WorkloadWriterOptions) {
    this.#options = options;
    this.#objects = new WorkloadObjectWriter({ ...options, owned: options.caches.owned });
    this.#sweeper = new LeftoverSweeper({ ...options, isDesired: (workload) => this.#desired.has(workload) });
    options.caches.onOwnedChange((name) =>
      this.#usersOf.get(name)?.forEach((workload) => this.#repairIfNeeded(workload)),
    );
    options.caches.pods.onChange((_name, pod) => (pod === undefined ? this.#sweeper.sweepLater() : undefined));
  }

  async ensure(desired: DesiredWorkload): Promise<void> {
    const { name } = desired;
    this.#desired.set(name, structuredClone(desired));
    for (const object of objectNames(desired))
      this.#usersOf.set(object, (this.#usersOf.get(object) ?? new Set()).add(name));
    this.#sweeper.sweepLater();
    await this.#inTurn(name, () => this.#synchronize(name));
  }

  async remove(name: string): Promise<void> {
    const desired = this.#desired.get(name);
    this.#forget(name);
    const { caches, view } = this.#options;
    await this.#inTurn(name, async () => {
      const functionName =
        caches.owned.deployment.get(name)?.metadata.labels?.[FUNCTION_LABEL] ?? desired?.functionName;
      await this.#objects.removeDeployment(name);
      view.letGo(name);
      view.unblock(name);
      view.changed(name, functionName);
      this.#sweeper.sweepLater();
      await this.#objects.removeBudget(name);
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#sweeper.stop();
    for (const repair of this.#repairs.values()) repair.cancel?.();
  }

  /** It no longer maintains the workloads. */
  rest(): void {
    for (const name of [...this.#desired.keys()]) this.#forget(name);
  }

  async #synchronize(name: string): Promise<void> {
    const desired = this.#desired.get(name);
    if (desired === undefined) return;
    const { view, caches } = this.#options;
    const before = caches.owned.deployment.get(name);
    const uid = before?.metadata.annotations?.[FUNCTION_UID_ANNOTATION];
    // It belongs to an earlier function of the name: its instances are not this function's.
    if (uid !== undefined && uid !== desired.functionUid) view.letGo(name);
    try {
      await this.#objects.write(desired);
      view.block(desired, undefined);
    } catch (error) {
      if (!isLasting(error)) throw error;
      // An immediate retry changes nothing: a person must act, and a condition says so.
      view.block(desired, error.message);
      this.#repairLater(name);
      return;
    }
    if (caches.owned.deployment.get(name) !== before) view.changed(name, desired.functionName);
  }

  #repairIfNeeded(name: string): void {
    const desired = this.#desired.get(name);
    // A running write reports its own outcome.
    if (desired === undefined || this.#writes.isBusy(name) || this.#objects.areAsDesired(desired)) return;
    if (this.#isGone(name)) this.#forget(name);
    else this.#repairLater(name);
  }

  /**
   * Another operator with a newer state may have removed it: watchers are notified that it is gone, and ensure it again
   * where it is still desired.
   */
  #isGone(name: string): boolean {
    const { caches, view } = this.#options;
    return caches.owned.deployment.get(name) === undefined && !view.isBlocked(name);
  }

  #repairLater(name: string): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    const before = this.#repairs.get(name);
    if (before?.cancel !== undefined) return;
    const backoff = before?.backoff ?? new Backoff(REPAIRS);
    const delay = backoff.failed(now - (before?.at ?? now));
    this.#repairs.set(name, { backoff, at: now, cancel: clock.after(delay, () => void this.#repair(name)) });
  }

  async #repair(name: string): Promise<void> {
    const repair = this.#repairs.get(name);
    if (repair !== undefined) repair.cancel = undefined;
    const desired = this.#desired.get(name);
    if (desired === undefined || !this.#options.leads() || this.#stopped) return;
    const { logger } = this.#options;
    try {
      if (this.#objects.areAsDesired(desired)) return;
      logger.info(
        { workload: name, function: desired.functionName },
        "a workload's objects are not as they should be; repairing them",
      );
      await this.#inTurn(name, () => this.#synchronize(name));
    } catch (error) {
      logger.warn({ err: error, workload: name }, "a workload's objects could not be repaired yet");
      this.#repairLater(name);
    }
  }

  #forget(name: string): void {
    const desired = this.#desired.get(name);
    this.#desired.delete(name);
    this.#repairs.get(name)?.cancel?.();
    this.#repairs.delete(name);
    for (const object of desired === undefined ? [] : objectNames(desired)) {
      const users = this.#usersOf.get(object);
      users?.delete(name);
      if (users?.size === 0) this.#usersOf.delete(object);
    }
  }

  async #inTurn(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await this.#writes.run(name, work);
    } finally {
      // Changes by others were left to this write, which may have read the object before them.
      this.#repairIfNeeded(name);
    }
  }
}

function objectNames({ name, functionName }: DesiredWorkload): string[] {
  return [...new Set([name, serviceName(name), feedSecretName(functionName)])];
}

/** Refusals that last until somebody changes something: a name in use, a quota, a policy. */
function isLasting(error: unknown): error is Error {
  return (
    error instanceof NotOursError || isDomainError(error, 'forbidden') || isDomainError(error, 'validation_failed')
  );
}

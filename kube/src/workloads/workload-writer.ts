import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { buildObjects, type WorkloadObjects } from './build-objects.ts';
import { feedSecretName, FUNCTION_LABEL, FUNCTION_UID_ANNOTATION, serviceName, WORKLOAD_LABEL } from './names.ts';
import { NotOursError, type OwnedObjects } from './owned-objects.ts';
import type { WorkloadCaches } from './workload-caches.ts';
import type { WorkloadSettings } from './workload-settings.ts';
import type { WorkloadView } from './workload-view.ts';

/**
 * Foreign edits are reverted within 10 s (K2), also those of a program that repeats them. A workload that was left
 * alone for a minute is repaired at once again.
 */
const REPAIRS = { firstMs: 50, lastMs: 6000, healthyMs: 60_000 };
const SWEEP_MS = 1000;
/** What belongs to no Deployment is left so long: it may be of one that is about to be made. */
const LEFTOVER_AGE_MS = 60_000;

interface WorkloadWriterOptions {
  settings: WorkloadSettings;
  caches: WorkloadCaches;
  view: WorkloadView;
  /** The feed token of a function, by its uid. */
  tokenOf: (functionUid: string) => string;
  /** Whether this replica may write of its own accord. */
  leads: () => boolean;
  clock: Clock;
  logger: Logger;
}

interface Repair {
  backoff: Backoff;
  at: number;
  cancel: (() => void) | undefined;
}

/** Makes the objects of workloads, keeps them as they should be while there is a Deployment, and removes them. */
export class WorkloadWriter {
  readonly #options: WorkloadWriterOptions;
  readonly #desired = new Map<string, DesiredWorkload>();
  /** Which workloads have an object of the name, of whatever kind. */
  readonly #usersOf = new Map<string, Set<string>>();
  /** The writes of a workload come one after the other. */
  readonly #writes = new KeyedLock();
  readonly #repairs = new Map<string, Repair>();
  #cancelSweep: (() => void) | undefined;
  #stopped = false;

  constructor(options: WorkloadWriterOptions) {
    this.#options = options;
    options.caches.onOwnedChange((name) =>
      this.#usersOf.get(name)?.forEach((workload) => this.#repairIfNeeded(workload)),
    );
    options.caches.pods.onChange((_name, pod) => (pod === undefined ? this.#sweepLater() : undefined));
  }

  async ensure(desired: DesiredWorkload): Promise<void> {
    const { name } = desired;
    this.#desired.set(name, structuredClone(desired));
    for (const object of objectNames(desired))
      this.#usersOf.set(object, (this.#usersOf.get(object) ?? new Set()).add(name));
    this.#sweepLater();
    await this.#inTurn(name, () => this.#synchronize(name));
  }

  /** The Service stays until the last pod has gone: draining instances are found by it. */
  async remove(name: string): Promise<void> {
    const desired = this.#desired.get(name);
    this.#forget(name);
    const { caches, view } = this.#options;
    await this.#inTurn(name, async () => {
      const functionName =
        caches.owned.deployment.get(name)?.metadata.labels?.[FUNCTION_LABEL] ?? desired?.functionName;
      await caches.owned.deployment.delete(name);
      view.letGo(name);
      view.unblock(name);
      view.changed(name, functionName);
    });
    this.#sweepLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelSweep?.();
    for (const repair of this.#repairs.values()) repair.cancel?.();
  }

  /** Nothing is kept as it was any more. */
  rest(): void {
    for (const name of [...this.#desired.keys()]) this.#forget(name);
  }

  async #synchronize(name: string): Promise<void> {
    const desired = this.#desired.get(name);
    if (desired === undefined) return;
    const { view, caches } = this.#options;
    const before = caches.owned.deployment.get(name);
    const uid = before?.metadata.annotations?.[FUNCTION_UID_ANNOTATION];
    // Of an earlier function of the name: its instances are none of this one.
    if (uid !== undefined && uid !== desired.functionUid) view.letGo(name);
    try {
      await this.#write(this.#objectsOf(desired));
      view.block(desired, undefined);
    } catch (error) {
      if (!isLasting(error)) throw error;
      // Trying again at once changes nothing: a person has to, and a condition says so.
      view.block(desired, error.message);
      this.#repairLater(name);
      return;
    }
    if (caches.owned.deployment.get(name) !== before) view.changed(name, desired.functionName);
  }

  async #write(objects: WorkloadObjects): Promise<void> {
    const { owned } = this.#options.caches;
    const { deployment, disruptionBudget } = objects;
    await Promise.all([owned.secret.apply(objects.secret), owned.service.apply(objects.service)]);
    await owned.deployment.apply(deployment);
    if (disruptionBudget !== undefined) await owned.disruptionBudget.apply(disruptionBudget);
    else await this.#deleteOwn(owned.disruptionBudget, deployment.metadata?.name ?? '');
  }

  #objectsOf(desired: DesiredWorkload): WorkloadObjects {
    const { settings, tokenOf } = this.#options;
    return buildObjects({ desired, settings }, tokenOf(desired.functionUid));
  }

  async #deleteOwn(
    kind: OwnedObjects<{
      metadata: { name: string; uid: string; resourceVersion: string; labels?: Record<string, string> };
    }>,
    name: string,
  ): Promise<void> {
    const labels = kind.get(name)?.metadata.labels;
    if (labels?.[WORKLOAD_LABEL] !== undefined) await kind.delete(name);
  }

  #isAsDesired(desired: DesiredWorkload): boolean {
    const { owned } = this.#options.caches;
    const { disruptionBudget, ...rest } = this.#objectsOf(desired);
    const budget =
      disruptionBudget === undefined
        ? owned.disruptionBudget.get(desired.name) === undefined
        : owned.disruptionBudget.isAsDesired(disruptionBudget);
    const kinds = ['secret', 'service', 'deployment'] as const;
    return budget && kinds.every((kind) => owned[kind].isAsDesired(rest[kind]));
  }

  #repairIfNeeded(name: string): void {
    const desired = this.#desired.get(name);
    // A write under way says itself how it ended.
    if (desired === undefined || this.#writes.isBusy(name) || this.#isAsDesired(desired)) return;
    if (this.#isGone(name)) this.#forget(name);
    else this.#repairLater(name);
  }

  /**
   * Another operator may have removed it, which knows more than this one: whoever watches is notified that it is gone,
   * and ensures it again where it is still desired.
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
      if (this.#isAsDesired(desired)) return;
      logger.info(
        { workload: name, function: desired.functionName },
        "a workload's objects are not as they should be: they are repaired",
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
      // What others changed meanwhile was left to this write, which may have looked at it before.
      this.#repairIfNeeded(name);
    }
  }

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#cancelSweep ??= this.#options.clock.after(SWEEP_MS, () => {
      this.#cancelSweep = undefined;
      if (!this.#options.leads()) return;
      void this.#sweep().catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, 'leftovers of workloads could not be removed yet'),
      );
    });
  }

  /** Removes what workloads that are gone have left. */
  async #sweep(): Promise<void> {
    const { owned } = this.#options.caches;
    for (const kind of [owned.service, owned.disruptionBudget]) {
      const leftovers = kind.list().filter((object) => this.#isLeftover(object.metadata));
      for (const { metadata } of leftovers) await kind.delete(metadata.name);
    }
  }

  #isLeftover({ labels, creationTimestamp }: { labels?: Record<string, string>; creationTimestamp?: string }): boolean {
    const { caches, view, clock } = this.#options;
    const workload = labels?.[WORKLOAD_LABEL];
    if (workload === undefined || this.#desired.has(workload) || caches.owned.deployment.get(workload) !== undefined)
      return false;
    const isOld = clock.now() - Date.parse(creationTimestamp ?? '') > LEFTOVER_AGE_MS;
    return isOld && view.podsOf(workload).length === 0;
  }
}

function objectNames({ name, functionName }: DesiredWorkload): string[] {
  return [...new Set([name, serviceName(name), feedSecretName(functionName)])];
}

/** Refusals that stay until somebody changes something: a name that is taken, a quota, a policy. */
function isLasting(error: unknown): error is Error {
  return (
    error instanceof NotOursError || isDomainError(error, 'forbidden') || isDomainError(error, 'validation_failed')
  );
}

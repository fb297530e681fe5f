import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { buildObjects, type WorkloadObjects } from './build-objects.ts';
import { WORKLOAD_LABEL } from './names.ts';
import type { OwnedKinds } from './workload-caches.ts';
import type { WorkloadSettings } from './workload-settings.ts';

interface WorkloadObjectWriterOptions {
  settings: WorkloadSettings;
  owned: OwnedKinds;
  /** The feed token of a function, by its uid. */
  tokenOf: (functionUid: string) => string;
}

/** The objects of one workload: compares them with the existing ones, and writes them in order. */
export class WorkloadObjectWriter {
  readonly #options: WorkloadObjectWriterOptions;

  constructor(options: WorkloadObjectWriterOptions) {
    this.#options = options;
  }

  /**
   * What pods need is created before the Deployment that starts them.
   * @throws NotOursError; DomainError as the client does.
   */
  async write(desired: DesiredWorkload): Promise<void> {
    const { owned } = this.#options;
    const { secret, service, deployment, disruptionBudget } = this.#objectsOf(desired);
    await Promise.all([owned.secret.apply(secret), owned.service.apply(service)]);
    await owned.deployment.apply(deployment);
    if (disruptionBudget !== undefined) await owned.disruptionBudget.apply(disruptionBudget);
    else await this.removeBudget(desired.name);
  }

  /** The Service stays until the last pod has gone: draining instances are found by it. The Secret is the function's. */
  async removeDeployment(name: string): Promise<void> {
    await this.#options.owned.deployment.delete(name);
  }

  /** One that belongs to no workload of Wherry is left alone. */
  async removeBudget(name: string): Promise<void> {
    const { disruptionBudget } = this.#options.owned;
    if (disruptionBudget.get(name)?.metadata.labels?.[WORKLOAD_LABEL] !== undefined)
      await disruptionBudget.delete(name);
  }

  /** No request goes to the API server. */
  areAsDesired(desired: DesiredWorkload): boolean {
    const { owned } = this.#options;
    const { disruptionBudget, ...rest } = this.#objectsOf(desired);
    const budget =
      disruptionBudget === undefined
        ? owned.disruptionBudget.get(desired.name) === undefined
        : owned.disruptionBudget.isAsDesired(disruptionBudget);
    const kinds = ['secret', 'service', 'deployment'] as const;
    return budget && kinds.every((kind) => owned[kind].isAsDesired(rest[kind]));
  }

  #objectsOf(desired: DesiredWorkload): WorkloadObjects {
    const { settings, tokenOf } = this.#options;
    return buildObjects({ desired, settings }, tokenOf(desired.functionUid));
  }
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { WORKLOAD_LABEL } from './names.ts';
import type { WorkloadCaches } from './workload-caches.ts';
import type { WorkloadView } from './workload-view.ts';

const SWEEP_MS = 1000;
/** Objects without a Deployment are kept for this long: it may be about to be created. */
const LEFTOVER_AGE_MS = 60_000;

interface LeftoverSweeperOptions {
  caches: WorkloadCaches;
  view: WorkloadView;
  isDesired: (workload: string) => boolean;
  /** Whether this replica may write on its own initiative. */
  leads: () => boolean;
  clock: Clock;
  logger: Logger;
}

/** Removes Services of workloads that are gone, and what an operator that crashed has left of them. */
export class LeftoverSweeper {
  readonly #options: LeftoverSweeperOptions;
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(options: LeftoverSweeperOptions) {
    this.#options = options;
  }

  /** Runs soon, once for all calls until then. */
  sweepLater(): void {
    if (this.#stopped) return;
    this.#cancel ??= this.#options.clock.after(SWEEP_MS, () => {
      this.#cancel = undefined;
      if (!this.#options.leads()) return;
      void this.#sweep().catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, 'leftovers of workloads could not be removed yet'),
      );
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  async #sweep(): Promise<void> {
    const { owned } = this.#options.caches;
    for (const kind of [owned.service, owned.disruptionBudget]) {
      const leftovers = kind.list().filter((object) => this.#isLeftover(object.metadata));
      for (const { metadata } of leftovers) await kind.delete(metadata.name);
    }
  }

  #isLeftover({ labels, creationTimestamp }: { labels?: Record<string, string>; creationTimestamp?: string }): boolean {
    const { caches, view, isDesired, clock } = this.#options;
    const workload = labels?.[WORKLOAD_LABEL];
    if (workload === undefined || isDesired(workload) || caches.owned.deployment.get(workload) !== undefined)
      return false;
    const isOld = clock.now() - Date.parse(creationTimestamp ?? '') > LEFTOVER_AGE_MS;
    return isOld && view.podsOf(workload).length === 0;
  }
}

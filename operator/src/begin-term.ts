import type { Builder } from '@wherry/core/ports/builder.ts';
import { BuildScheduler, type BuildMetrics } from './builds/build-scheduler.ts';
import { createSourceLocks } from './builds/source-locks.ts';
import { collectContent } from './content/collect-content.ts';
import { createControllers, type ControllerDependencies, type Controllers } from './controllers.ts';

/** How often unreferenced blobs are collected. */
const COLLECT_MS = 600_000;

export interface TermDependencies extends Omit<ControllerDependencies, 'builds'> {
  builder: Builder;
  buildMetrics: BuildMetrics;
}

/** The time in which this operator leads: it alone reconciles, builds and collects then. */
export interface Term {
  readonly controllers: Controllers;
  /** Resolves when it has stopped completely. */
  stop(): Promise<void>;
}

/**
 * Begins with the state of the caches, and without knowledge of an earlier term: another operator may have led since.
 */
export function beginTerm(dependencies: TermDependencies): Term {
  const { caches, clock, content, logger, trees, workloads } = dependencies;
  const locks = createSourceLocks(dependencies);
  const builds = new BuildScheduler({ ...dependencies, metrics: dependencies.buildMetrics, locks });
  const controllers = createControllers({ ...dependencies, builds });
  let cancelCollect = (): void => undefined;

  function collectLater(): void {
    cancelCollect = clock.after(COLLECT_MS, () => {
      void collectContent({ caches, content, trees, artifacts: builds.revisions(), workloads })
        .then((count) => logger.debug({ count }, 'collected blobs that nothing refers to'))
        .catch((error: unknown) => logger.warn({ err: error }, 'could not collect blobs'));
      collectLater();
    });
  }

  controllers.start();
  collectLater();
  return {
    controllers,
    async stop() {
      cancelCollect();
      locks.stop();
      await Promise.all([controllers.stop(), builds.stop()]);
      dependencies.undecryptable.clear();
    },
  };
}

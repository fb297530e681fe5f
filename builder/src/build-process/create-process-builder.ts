import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Builder } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { BuildIdentity } from '../build-identity.ts';
import { startBuildChild, type BuildChild } from './build-child.ts';
import { makeBuildProgram, type BuildProgram } from './build-program.ts';
import type { PackageRegistry } from '../packages/package-registry.ts';
import type { WarmUp } from './protocol.ts';
import { runBuild, type BuildLimits } from './run-build.ts';
import { createSemaphore } from '@wherry/service/semaphore.ts';
import { createSpareProcess } from './spare-process.ts';
import { PackagesOfLastBuild } from './packages-of-last-build.ts';

const MIB = 1024 * 1024;
/** B1. */
export const BUILD_LIMITS: BuildLimits = {
  timeoutMs: 60_000,
  packagesTimeoutMs: 180_000,
  memoryBytes: 512 * MIB,
  outputBytes: 20 * MIB,
  concurrency: 4,
};

export interface ProcessBuilderOptions {
  /** Where the trees' blobs are. The build processes see it through us, blob by blob. */
  content: ContentStore;
  /** Where npm packages come from, tarball by tarball; called when a build needs some. */
  packages: () => Promise<PackageRegistry>;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  limits?: Partial<BuildLimits>;
  /** Keeps a started process ready after a build, for the next one. Default: yes. */
  spare?: boolean;
  /** The user that builds run as: only root can give one. It must be able to read the installation. */
  identity?: BuildIdentity;
}

/** A builder that runs each build in a process of its own, away from every key and credential (B1, B2). */
export function createProcessBuilder(options: ProcessBuilderOptions): Builder & { stop(): Promise<void> } {
  const { clock, logger, identity } = options;
  const limits = { ...BUILD_LIMITS, ...options.limits };
  const starts = options.metrics.counter(METRICS.buildProcesses);
  const processes = createSemaphore(limits.concurrency);
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  let program: Promise<BuildProgram> | undefined;

  const start = async (): Promise<BuildChild> => {
    program ??= makeBuildProgram().catch((error: unknown) => {
      program = undefined;
      throw error;
    });
    return startBuildChild(await program, { memoryBytes: limits.memoryBytes, identity });
  };
  const last = new PackagesOfLastBuild(options.packages);
  const startWarm = async (): Promise<BuildChild> => {
    const [child, packages] = await Promise.all([
      start(),
      // Without them it is ready for any other build as well.
      last.toWarmUp(limits.outputBytes, stopping.signal).catch(() => undefined),
    ]);
    child.channel.send({ type: 'warm', ...(packages && { packages }) } satisfies WarmUp);
    return child;
  };
  const spare = createSpareProcess({ start: startWarm, clock, logger });

  async function buildOne(request: Parameters<Builder['build']>[0], signal: AbortSignal): ReturnType<Builder['build']> {
    const release = await processes.acquire(signal);
    try {
      const ready = spare.take();
      starts.inc({ start: ready === undefined ? 'cold' : 'spare' });
      const context = { content: options.content, packages: options.packages, clock, logger, limits };
      return await runBuild(ready ?? (await start()), request, signal, {
        ...context,
        onPackages: (used) => last.remember(used),
      });
    } finally {
      release();
      if ((options.spare ?? true) && !stopping.signal.aborted) spare.prepare();
    }
  }

  return {
    async build(request, signal) {
      signal.throwIfAborted();
      const build = buildOne(request, AbortSignal.any([signal, stopping.signal]));
      running.add(build);
      return build.finally(() => running.delete(build));
    },
    async stop() {
      stopping.abort(new Error('the builder is stopping'));
      await Promise.allSettled(running);
      await spare.stop();
    },
  };
}

import { METRICS } from '@wherry/core/metrics/metrics.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { RuntimeFeed } from '@wherry/core/ports/runtime-feed.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import { resourcesSchema } from '@wherry/core/resources/function.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { INSTANCE_LIMITS } from './instance-limits.ts';
import { repeat } from './repeat.ts';
import { openRunDirectory } from './run-directory.ts';
import type { RuntimeProcess } from './runtime-process.ts';
import { createLauncher } from './runtime-process.ts';
import { createSpares } from './spares.ts';
import { createStartQueue } from './start-queue.ts';
import { createUidPool, findUidRange } from './uid-pool.ts';
import { WorkloadSet } from './workload-set.ts';

export interface ProcessWorkloadsOptions {
  /** Path of the runtime as one file. */
  runtimeBundle: string;
  /** The run directory, for this service alone: sockets, the instances' own folders, records of their processes. */
  directory: string;
  runtimeFeed: RuntimeFeed;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Runtimes of the default size that are started ahead of need. 1 when left out. */
  spares?: number;
  limits?: Partial<InstanceLimits>;
}

/**
 * The Workloads port as child processes of this one: each instance a process of its own, as a user of its own where
 * this process is root.
 * @throws StartError where the run directory cannot be used.
 */
export function createProcessWorkloads(options: ProcessWorkloadsOptions): Workloads & { stop(): Promise<void> } {
  const { clock, logger, metrics } = options;
  const limits = { ...INSTANCE_LIMITS, ...options.limits };
  const supply = createSupply(options);
  const replicas = metrics.gauge(METRICS.runtimeProcesses);
  const workloads = new WorkloadSet({
    obtain: supply.obtain,
    starts: createStartQueue(clock),
    feed: options.runtimeFeed,
    clock,
    random: Math.random,
    logger,
    limits,
    coldStarts: metrics.counter(METRICS.coldStarts),
    deaths: metrics.counter(METRICS.instanceDeaths),
  });
  const cancelChecks = repeat(clock, limits.checkMs, (elapsedMs) => {
    workloads.check(elapsedMs, replicas);
    replicas.set(supply.spareCount(), { state: 'spare' });
  });
  return {
    ensure: (desired) => workloads.ensure(desired),
    remove: (name) => workloads.remove(name),
    list: () => workloads.list(),
    watch: (onChange) => workloads.watch(onChange),
    async stop() {
      await Promise.all([workloads.stop(), supply.stop()]);
      cancelChecks();
    },
  };
}

/** Where runtimes come from: spares of the default size, else new ones. */
function createSupply(options: ProcessWorkloadsOptions): {
  obtain: (memoryMiB: number) => RuntimeProcess;
  spareCount: () => number;
  stop: () => Promise<void>;
} {
  const { clock, logger, directory, runtimeBundle: bundle } = options;
  const range = findUidRange();
  const run = openRunDirectory(directory, { node: process.execPath, bundle, otherUsers: range !== undefined });
  const launcher = createLauncher({ run, uids: range === undefined ? undefined : createUidPool(range), clock });
  const { memoryMiB: defaultMiB } = resourcesSchema.parse({});
  const spares = createSpares({ count: options.spares ?? 1, memoryMiB: defaultMiB }, { launcher, clock, logger });
  return {
    obtain: (memoryMiB) => (memoryMiB === defaultMiB ? spares.take() : undefined) ?? launcher.launch(memoryMiB),
    spareCount: () => spares.count(),
    stop: () => spares.stop(),
  };
}

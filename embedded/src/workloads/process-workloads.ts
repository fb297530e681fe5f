import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { RuntimeFeed } from '@wherry/core/ports/runtime-feed.ts';
import { resourcesSchema } from '@wherry/core/resources/function.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { INSTANCE_LIMITS } from './instance-limits.ts';
import { openRunDirectory } from './run-directory.ts';
import { createLauncher } from './runtime-process.ts';
import { createSpares, type Spares } from './spares.ts';
import { createStartQueue } from './start-queue.ts';
import { createUidPool, findUidRange } from './uid-pool.ts';
import { WorkloadSet } from './workload-set.ts';

export interface ProcessWorkloadsOptions {
  /** Path of the runtime as one file. */
  runtimeBundle: string;
  /** The run directory of this service: sockets, the instances' own folders, records of their processes. */
  directory: string;
  runtimeFeed: RuntimeFeed;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Number of spare runtimes of the default size. 1 when omitted. */
  spares?: number;
  limits?: Partial<InstanceLimits>;
}

/**
 * The Workloads port as child processes of this one: each instance a process of its own, as a user of its own where
 * this process is root.
 * @throws StartError where the run directory cannot be used.
 */
export function createProcessWorkloads(options: ProcessWorkloadsOptions): WorkloadSet {
  const { clock, logger, metrics } = options;
  return new WorkloadSet({
    spares: openSpares(options),
    starts: createStartQueue(clock),
    feed: options.runtimeFeed,
    clock,
    random: Math.random,
    logger,
    limits: { ...INSTANCE_LIMITS, ...options.limits },
    coldStarts: metrics.counter(METRICS.coldStarts),
    deaths: metrics.counter(METRICS.instanceDeaths),
    processes: metrics.gauge(METRICS.runtimeProcesses),
  });
}

/** Spares of the default size. */
function openSpares(options: ProcessWorkloadsOptions): Spares {
  const { clock, logger, directory, runtimeBundle: bundle } = options;
  const range = findUidRange();
  const run = openRunDirectory(directory, { node: process.execPath, bundle, otherUsers: range !== undefined });
  const launcher = createLauncher({ run, uids: range === undefined ? undefined : createUidPool(range), clock });
  const { memoryMiB } = resourcesSchema.parse({});
  return createSpares({ count: options.spares ?? 1, memoryMiB }, { launcher, clock, logger });
}

import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { RuntimeFeed } from '@wherry/core/ports/runtime-feed.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { INSTANCE_LIMITS } from './instance-limits.ts';
import type { Spares } from './spares.ts';
import { createStartQueue } from './start-queue.ts';
import { WorkloadSet } from './workload-set.ts';

export interface ProcessWorkloadsOptions {
  /** Where its processes come from. It stops them. */
  spares: Spares;
  runtimeFeed: RuntimeFeed;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  limits?: Partial<InstanceLimits>;
}

/** The Workloads port as child processes of this one: each instance a process of its own. */
export function createProcessWorkloads(options: ProcessWorkloadsOptions): WorkloadSet {
  const { spares, clock, logger, metrics } = options;
  return new WorkloadSet({
    spares,
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

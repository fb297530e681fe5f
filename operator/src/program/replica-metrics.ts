import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';

/** Changes that come within this time are counted as one. */
const GATHER_MS = 500;

/** Counts the instances of all functions, as this replica observes them. Returns how to stop. */
export function countReplicas({
  workloads,
  clock,
  metrics,
}: {
  workloads: Workloads;
  clock: Clock;
  metrics: Metrics;
}): () => void {
  const gauge = metrics.gauge(METRICS.replicas);
  let cancel: (() => void) | undefined;

  function count(): void {
    cancel = undefined;
    const counts = { ready: 0, starting: 0 };
    for (const { instances } of workloads.list())
      for (const { ready } of instances) counts[ready ? 'ready' : 'starting'] += 1;
    gauge.set(counts.ready, { state: 'ready' });
    gauge.set(counts.starting, { state: 'starting' });
  }

  count();
  const stop = workloads.watch(() => {
    cancel ??= clock.after(GATHER_MS, count);
  });
  return () => {
    stop();
    cancel?.();
  };
}

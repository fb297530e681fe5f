import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Gauge, Metrics, Series } from '@wherry/core/ports/metrics.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';
import type { Caches } from '../informers/caches.ts';

/** As a condition has them; a metric writes them small. */
const STATUSES = ['True', 'False', 'Unknown'] as const satisfies Condition['status'][];

interface Exposed {
  series: Series;
  desired: Gauge;
  ready: Gauge;
  /** The newest. */
  conditions: readonly Condition[];
}

/**
 * Exposes for each function its desired and its ready instances and its conditions, the latter as kube-state-metrics
 * does: one series a status, of which one is 1. They go with the function.
 */
export function exposeFunctions(metrics: Metrics, { functions, namespace }: Caches): void {
  const all = new Map<string, Exposed>();
  functions.onChange((name, fn) => {
    const before = all.get(name);
    if (fn === undefined) {
      all.delete(name);
      before?.series.remove();
      return;
    }
    const exposed = before ?? begin(metrics, { function_namespace: namespace, function_name: name });
    all.set(name, exposed);
    update(exposed, fn);
  });
}

function begin(metrics: Metrics, labels: Record<string, string>): Exposed {
  const series = metrics.series(labels);
  const exposed: Exposed = {
    series,
    desired: series.gauge(METRICS.functionReplicasDesired),
    ready: series.gauge(METRICS.functionReplicasReady),
    conditions: [],
  };
  // Read at each scrape, so that a condition that is no longer there has no series.
  series.gauge(METRICS.functionConditions).observe(() => exposed.conditions.flatMap(samplesOf));
  return exposed;
}

function update(exposed: Exposed, { spec, status }: FunctionResource): void {
  exposed.desired.set(spec.enabled ? spec.scaling.minReplicas : 0);
  exposed.ready.set(status.readyReplicas ?? 0);
  exposed.conditions = status.conditions ?? [];
}

function samplesOf({ type, status }: Condition): (readonly [Record<string, string>, number])[] {
  return STATUSES.map((each) => [{ condition: type, status: each.toLowerCase() }, each === status ? 1 : 0]);
}

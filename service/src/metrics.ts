import type {
  Counter,
  Gauge,
  Histogram,
  Labels,
  MetricDefinition,
  Metrics,
  Series,
} from '@wherry/core/ports/metrics.ts';
import * as prometheus from 'prom-client';
import { MetricsRegistry } from './metrics-registry.ts';

const PREFIX = 'wherry_';
/** Seconds: from a warm call's overhead up to the longest timeouts. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Of one thing among many: a thousand of them are scraped at once. */
const SERIES_BUCKETS = BUCKETS.filter((seconds) => seconds >= 0.005);

/** The Metrics port over prom-client, and the registry that `/metrics` prints. */
export function createMetrics(): { metrics: Metrics; registry: MetricsRegistry } {
  const registry = new MetricsRegistry();
  return {
    registry,
    metrics: { ...metricsIn(registry.common, BUCKETS), series: (labels) => seriesIn(registry, labels) },
  };
}

/**
 * The same for a program of its own: with what prom-client exposes for every Node process (CPU, memory, event loop,
 * garbage collection), under its own names. Once in a process.
 */
export function createProgramMetrics(): ReturnType<typeof createMetrics> {
  const made = createMetrics();
  // It samples every 100 ms: the default rate would cost more than an idle router.
  prometheus.collectDefaultMetrics({ register: made.registry.common, eventLoopMonitoringPrecision: 100 });
  return made;
}

function seriesIn(registry: MetricsRegistry, labels: Labels): Series {
  const group = new prometheus.Registry();
  group.setDefaultLabels(labels);
  registry.add(group);
  return { ...metricsIn(group, SERIES_BUCKETS), remove: () => registry.remove(group) };
}

function metricsIn(registry: prometheus.Registry, buckets: number[]): Pick<Metrics, 'counter' | 'gauge' | 'histogram'> {
  const options = ({ name, help, labels }: MetricDefinition) => ({
    name: PREFIX + name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    counter: (definition) => counter(new prometheus.Counter(options(definition))),
    gauge: (definition) => gauge(options(definition)),
    histogram: (definition) => histogram(new prometheus.Histogram({ ...options(definition), buckets })),
  };
}

function counter(metric: prometheus.Counter): Counter {
  return { inc: (labels: Labels = {}, by = 1) => metric.inc(labels, by) };
}

function gauge(options: prometheus.GaugeConfiguration<string>): Gauge {
  let read: (() => Iterable<readonly [Labels, number]>) | undefined;
  const metric: prometheus.Gauge = new prometheus.Gauge({
    ...options,
    collect() {
      if (read === undefined) return;
      metric.reset();
      for (const [labels, value] of read()) metric.set(labels, value);
    },
  });
  return {
    set: (value: number, labels: Labels = {}) => metric.set(labels, value),
    inc: (labels: Labels = {}, by = 1) => metric.inc(labels, by),
    observe: (from) => (read = from),
  };
}

function histogram(metric: prometheus.Histogram): Histogram {
  return { observe: (value: number, labels: Labels = {}) => metric.observe(labels, value) };
}

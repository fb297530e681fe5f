import { STATUS_CODES } from 'node:http';
import type { RouterFunction } from '@wherry/core/feed/messages.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Counter, Gauge, Histogram, Metrics, Series } from '@wherry/core/ports/metrics.ts';

/**
 * The label for a method or a status that is not commonly known, because callers and handlers can invent any.
 */
const OTHER = '_OTHER';
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']);
/** The status for an answer that nobody received: the caller had disconnected. */
export const CODE_CLOSED = 499;

interface Made {
  series: Series;
  calls: Counter;
  seconds: Histogram;
  inFlight: Gauge;
}

/**
 * The metrics of one function under one definition of its route and methods. A call keeps the series that it began
 * with: once they are removed, what it records late goes nowhere, and does not bring them back.
 */
export class FunctionSeries {
  readonly #metrics: Metrics;
  readonly #spec: RouterFunction;
  #removed = false;
  #made: Made | undefined;

  constructor(metrics: Metrics, spec: RouterFunction) {
    this.#metrics = metrics;
    this.#spec = spec;
  }

  /** Whether another version of the function has the same series. */
  isOf({ namespace, route, methods }: RouterFunction): boolean {
    const own = this.#spec;
    return namespace === own.namespace && route === own.route && methods.join() === own.methods.join();
  }

  started(): void {
    this.#get().inFlight.inc({}, 1);
  }

  /** An instance has answered, or given up. */
  ended(): void {
    this.#get().inFlight.inc({}, -1);
  }

  /** @param seconds how long an instance had it; undefined: none had. */
  counted(method: string, status: number, seconds?: number): void {
    const { calls, seconds: durations } = this.#get();
    const code = status === CODE_CLOSED || status in STATUS_CODES ? String(status) : OTHER;
    calls.inc({ route: this.#spec.route, method: METHODS.has(method) ? method : OTHER, code });
    if (seconds !== undefined) durations.observe(seconds);
  }

  remove(): void {
    this.#removed = true;
    this.#made?.series.remove();
  }

  /** Created at a function's first call, because most of many functions are never called. */
  #get(): Made {
    this.#made ??= makeSeries(this.#metrics, this.#spec);
    if (this.#removed) this.#made.series.remove();
    return this.#made;
  }
}

function makeSeries(metrics: Metrics, { namespace, id }: RouterFunction): Made {
  const series = metrics.series({ function_namespace: namespace, function_name: id });
  return {
    series,
    calls: series.counter(METRICS.functionCalls),
    seconds: series.histogram(METRICS.functionDuration),
    inFlight: series.gauge(METRICS.functionInFlight),
  };
}

/**
 * Which revision of each function is served: the one metric that distinguishes revisions, so that a deploy adds no
 * series.
 */
export function exposeRevisions(metrics: Metrics, functions: () => Iterable<{ spec: RouterFunction }>): void {
  const gauge = metrics.gauge(METRICS.functionInfo);
  gauge.observe(() =>
    [...functions()].map(({ spec: { namespace, id, revision } }) => [
      { function_namespace: namespace, function_name: id, function_revision: revision ?? '' },
      1,
    ]),
  );
}

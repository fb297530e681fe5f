/** Values of a metric's labels; every one is bounded (never a raw path, key id or request id). */
export type Labels = Record<string, string>;

export interface Counter {
  inc(labels?: Labels, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  inc(labels?: Labels, by?: number): void;
  /**
   * Its series are those that this returns, at each scrape: what it leaves out has none. In place of `set` and `inc`.
   */
  observe(read: () => Iterable<readonly [Labels, number]>): void;
}
export interface Histogram {
  /** Seconds. */
  observe(value: number, labels?: Labels): void;
}

export type MetricType = 'counter' | 'gauge' | 'histogram';

/** A metric as `core/src/metrics/metrics.ts` lists it. */
export interface MetricDefinition<T extends MetricType = MetricType> {
  readonly type: T;
  /** Without the prefix `wherry_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Makes metrics. One name is made once a program, or once in each group of series. */
export interface Metrics {
  /**
   * Metrics of one thing that comes and goes. All its series have these labels, which each of its metrics names among
   * its own; they are removed together, and what is recorded after that goes nowhere.
   */
  series(labels: Labels): Series;
  counter(definition: MetricDefinition<'counter'>): Counter;
  gauge(definition: MetricDefinition<'gauge'>): Gauge;
  histogram(definition: MetricDefinition<'histogram'>): Histogram;
}

export interface Series extends Pick<Metrics, 'counter' | 'gauge' | 'histogram'> {
  remove(): void;
}

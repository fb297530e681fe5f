/** Values of a metric's labels; every one is bounded (never a raw path, key id or request id). */
export type Labels = Record<string, string>;

export interface Counter {
  inc(labels?: Labels, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  inc(labels?: Labels, by?: number): void;
  /**
   * Returns the series at each scrape; what it leaves out has no series. It replaces `set` and `inc`.
   */
  observe(read: () => Iterable<readonly [Labels, number]>): void;
}
export interface Histogram {
  /** Seconds. */
  observe(value: number, labels?: Labels): void;
}

export type MetricType = 'counter' | 'gauge' | 'histogram';

/** A metric as `core/src/metric-definitions.ts` lists it. */
export interface MetricDefinition<T extends MetricType = MetricType> {
  readonly type: T;
  /** Without the prefix `wherry_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Creates metrics. A name is created once per program, or once in each group of series. */
export interface Metrics {
  /**
   * Metrics of one thing that comes and goes. All its series have these labels, which each of its metrics declares too;
   * they are removed together, and what is recorded after that is dropped.
   */
  series(labels: Labels): Series;
  counter(definition: MetricDefinition<'counter'>): Counter;
  gauge(definition: MetricDefinition<'gauge'>): Gauge;
  histogram(definition: MetricDefinition<'histogram'>): Histogram;
}

export interface Series extends Pick<Metrics, 'counter' | 'gauge' | 'histogram'> {
  remove(): void;
}

/** Values of a metric's labels; every one is bounded (never a raw path, key id or request id). */
export type Labels = Record<string, string>;

export interface Counter {
  inc(labels?: Labels, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  inc(labels?: Labels, by?: number): void;
  /** Its series are those that this returns, at each scrape: what it leaves out has none. In place of `set` and `inc`. */
  observe(read: () => Iterable<readonly [Labels, number]>): void;
}
export interface Histogram {
  /** Seconds. */
  observe(value: number, labels?: Labels): void;
}

/** Makes metrics; names come without the prefix `wherry_`. One name is made once a program, or once in each group of series. */
export interface Metrics {
  /**
   * Metrics of one thing that comes and goes. All its series have these labels, which each of its metrics names among its
   * own; they are removed together, and what is recorded after that goes nowhere.
   */
  series(labels: Labels): Series;
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  gauge(name: string, help: string, labels?: readonly string[]): Gauge;
  histogram(name: string, help: string, labels?: readonly string[]): Histogram;
}

export interface Series extends Pick<Metrics, 'counter' | 'gauge' | 'histogram'> {
  remove(): void;
}

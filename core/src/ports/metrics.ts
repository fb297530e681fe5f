/** Values of a metric's labels; every one is bounded (never a raw path, key id or request id). */
export type Labels = Record<string, string>;

export interface Counter {
  inc(labels?: Labels, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  inc(labels?: Labels, by?: number): void;
}
export interface Histogram {
  /** Seconds. */
  observe(value: number, labels?: Labels): void;
}

/** Makes metrics; names come without the prefix `wherry_`. One name is made once a program. */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  gauge(name: string, help: string, labels?: readonly string[]): Gauge;
  histogram(name: string, help: string, labels?: readonly string[]): Histogram;
}

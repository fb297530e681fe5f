import type { MetricsSink } from '@wherry/core/ports/telemetry.ts';

/** The periods that metrics are kept in. */
export const RESOLUTIONS = ['minutes', 'hours', 'days'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** Milliseconds of a period. */
export const PERIOD_MS: Record<Resolution, number> = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

/** Executions that ended in one period. Times are whole microseconds. */
export interface StoredMetrics {
  /** Undefined: of all functions together. */
  functionName: string | undefined;
  /** Its begin: milliseconds since 1970 UTC. */
  period: number;
  count: number;
  errors: number;
  sumUs: number;
  maxUs: number;
  p50Us: number;
  p95Us: number;
  p99Us: number;
}

export interface MetricsQuery {
  resolution: Resolution;
  /** `all`: of all functions together; `each`: of every one. */
  of: 'all' | 'each' | { functionName: string };
  /** Periods that begin at this time or later. Milliseconds since 1970 UTC. */
  from: number;
  /** Periods that begin before this time. */
  until: number;
  /** How many at most. */
  limit: number;
}

/** Metrics of executions, by minute, hour and day (UTC). */
export interface MetricStore extends MetricsSink {
  /** Oldest first, by function. Periods without executions are left out. @throws DomainError `unavailable`. */
  query(query: MetricsQuery): Promise<StoredMetrics[]>;
  /** Whether there are any metrics of the function, which may be long gone itself. */
  knows(functionName: string): Promise<boolean>;
  /** @param days how many days are kept, today among them. */
  retain(days: number): void;
  close(): Promise<void>;
}

/** The begin of the oldest of the last `count` periods, the running one among them. */
export function oldestPeriod(resolution: Resolution, now: number, count: number): number {
  const length = PERIOD_MS[resolution];
  return (Math.floor(now / length) - count + 1) * length;
}

import type { MetricsBatch } from '@wherry/core/ports/telemetry.ts';
import type { MetricsQuery, Resolution } from './metric-store.ts';

/** How its thread opens the database. */
export interface MetricOpening {
  file: string;
}

/** What is older goes: milliseconds since 1970 UTC. */
export interface MetricTrim {
  /** Periods that begin before. */
  periods: Record<Resolution, number>;
  /** Sketches of days that begin before. */
  sketches: number;
  /** Senders that were last heard before. */
  senders: number;
  /** How many rows change at most, and how many free pages are given back, so that nothing waits long. */
  limit: number;
}

/** The operations of the worker. */
export type MetricOperation =
  | { operation: 'record'; batch: MetricsBatch; now: number }
  | { operation: 'query'; query: MetricsQuery }
  | { operation: 'knows'; functionName: string }
  | { operation: 'trim'; trim: MetricTrim };

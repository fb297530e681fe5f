import type { RouterFunction } from '@wherry/core/feed/messages.ts';
import { parseRoute, type RouteSegment } from '@wherry/core/routes/route-pattern.ts';
import { Balancer, type OpenUpstream } from '../balance/balancer.ts';
import { ConcurrencyLimit } from '../limit/concurrency-limit.ts';
import { Refusal } from '../refusal.ts';
import type { Routed } from '../table/route-table.ts';
import type { FunctionSeries } from './function-series.ts';

/** The live state of a function; it outlives the versions of its definition. */
interface FunctionActivity {
  readonly balancer: Balancer;
  readonly limit: ConcurrencyLimit;
}

/** One version of a function's definition: a call keeps the one that it was matched with. */
export interface RoutedFunction extends Routed {
  readonly spec: RouterFunction;
  readonly segments: readonly RouteSegment[];
  readonly methods: readonly string[];
  /** Null: anybody may call. */
  readonly keyGroups: ReadonlySet<string> | null;
  readonly activity: FunctionActivity;
  /** Its metrics; the same for each version that has the same labels. */
  readonly series: FunctionSeries;
}

/** @throws RangeError for a route that cannot be parsed. */
export function routedFunction(
  spec: RouterFunction,
  { activity, series }: Pick<RoutedFunction, 'activity' | 'series'>,
): RoutedFunction {
  return {
    spec,
    segments: parseRoute(spec.route),
    methods: spec.methods,
    keyGroups: spec.keyGroups === null ? null : new Set(spec.keyGroups),
    activity,
    series,
  };
}

/** How calls of a function that never had a working revision are answered; undefined if they wait for an instance. */
export function failureOf({ revision, failure }: RouterFunction): Refusal | undefined {
  if (revision !== null || failure === null) return undefined;
  return new Refusal(failure.code, [], failure.message === '' ? undefined : failure.message);
}

export function newActivity(open: OpenUpstream): FunctionActivity {
  return { balancer: new Balancer(open), limit: new ConcurrencyLimit() };
}

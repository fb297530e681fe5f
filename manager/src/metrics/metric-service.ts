import { invalid, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { HOURS_KEPT, MINUTES_KEPT } from '../metric-store/open-metric-store.ts';
import { oldestPeriod, type MetricsQuery, type MetricStore, type StoredMetrics } from '../metric-store/metric-store.ts';
import { isId, isoTime } from '../object-access/shape.ts';
import type { MetricsPeriod, MetricsReply, MetricsRequest } from './metric-schemas.ts';
import { MANAGER_LIMITS } from '../limits.ts';

interface MetricServiceOptions {
  store: ResourceStore;
  metrics: MetricStore;
  clock: Clock;
  retentionDays: () => number;
  /** Of one answer. */
  maxPeriods?: number;
}

/** Metrics of executions, oldest period first. */
export class MetricService {
  readonly #options: MetricServiceOptions;

  constructor(options: MetricServiceOptions) {
    this.#options = options;
  }

  /**
   * @throws DomainError `validation_failed` for parameters that exclude each other and for too many periods;
   *   `not_found` for a function that neither exists nor has metrics: these outlive their function.
   */
  async query(request: MetricsRequest): Promise<MetricsReply> {
    const { resolution, functionId, groupBy } = request;
    if (functionId !== undefined && groupBy !== undefined)
      throw invalidParameter('groupBy', 'cannot be combined with functionId: omit one of them');
    if (functionId !== undefined) await this.#requireKnown(functionId);
    const of = groupBy === undefined ? 'all' : 'each';
    const found = await this.#read({
      ...this.#window(request),
      of: functionId === undefined ? of : { functionName: functionId },
    });
    if (groupBy !== undefined) return { data: { functions: byFunction(found), resolution } };
    return {
      data: { metrics: found.map(periodView), functionId: functionId ?? null, resolution, summary: summaryOf(found) },
    };
  }

  async #read(query: Omit<MetricsQuery, 'limit'>): Promise<StoredMetrics[]> {
    const { metrics, maxPeriods = MANAGER_LIMITS.metricPeriods } = this.#options;
    const found = await metrics.query({ ...query, limit: maxPeriods + 1 });
    if (found.length <= maxPeriods) return found;
    throw invalidParameter('since', `the answer would have more than ${maxPeriods} periods; request fewer of them`);
  }

  #window({ resolution, since, until }: MetricsRequest): Pick<MetricsQuery, 'resolution' | 'from' | 'until'> {
    const kept = { minutes: MINUTES_KEPT, hours: HOURS_KEPT, days: this.#options.retentionDays() };
    const oldest = oldestPeriod(resolution, this.#options.clock.now(), kept[resolution]);
    return {
      resolution,
      from: since === undefined ? oldest : Math.max(Date.parse(since), oldest),
      until: until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until),
    };
  }

  async #requireKnown(id: string): Promise<void> {
    const { store, metrics } = this.#options;
    const exists = isId(id) && (await store.get('Function', id)) !== undefined;
    if (exists || (await metrics.knows(id))) return;
    throw notFound(`There is no function with the id ${id}.`);
  }
}

const invalidParameter = (path: string, message: string): Error =>
  invalid(`The parameter ${path} is not valid: ${message}.`, [{ path, message }]);

function byFunction(found: readonly StoredMetrics[]): Record<string, MetricsPeriod[]> {
  const groups = Map.groupBy(found, ({ functionName = '' }) => functionName);
  return Object.fromEntries([...groups].map(([name, periods]) => [name, periods.map(periodView)]));
}

function periodView({ period, count, errors, sumUs, ...times }: StoredMetrics): MetricsPeriod {
  return {
    timestamp: isoTime(period),
    executionCount: count,
    errorCount: errors,
    avgTimeMs: averageMs(sumUs, count),
    maxTimeMs: times.maxUs / 1000,
    p50TimeMs: times.p50Us / 1000,
    p95TimeMs: times.p95Us / 1000,
    p99TimeMs: times.p99Us / 1000,
  };
}

function summaryOf(found: readonly StoredMetrics[]) {
  const sum = (value: (one: StoredMetrics) => number): number => found.reduce((total, one) => total + value(one), 0);
  const totalExecutions = sum(({ count }) => count);
  return {
    totalExecutions,
    totalErrors: sum(({ errors }) => errors),
    avgExecutionTime: averageMs(
      sum(({ sumUs }) => sumUs),
      totalExecutions,
    ),
    maxExecutionTime: Math.max(0, ...found.map(({ maxUs }) => maxUs)) / 1000,
    periodCount: found.length,
  };
}

/** To the microsecond; 0 where there is nothing. */
function averageMs(sumUs: number, count: number): number {
  return count === 0 ? 0 : Math.round(sumUs / count) / 1000;
}

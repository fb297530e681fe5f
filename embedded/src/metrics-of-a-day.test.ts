import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import type { MetricsBatch } from '@wherry/core/ports/telemetry.ts';
import type { MetricStore } from '@wherry/manager/metric-store/metric-store.ts';
import { openMetricStore } from '@wherry/manager/metric-store/open-metric-store.ts';
import { startRecordsThread } from '@wherry/manager/records/records-thread.ts';
import { MetricService } from '@wherry/manager/metrics/metric-service.ts';
import { MetricsReporter } from '@wherry/router/telemetry/metrics-reporter.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MIDNIGHT = 20_000 * DAY;
const CALLS = 60_000;
const FUNCTIONS = ['orders', 'mail', 'search'];
const SEED = 20_261_123;

interface RawCall {
  functionName: string;
  endedAt: number;
  durationMs: number;
  failed: boolean;
}

type Found = Awaited<ReturnType<MetricService['query']>>['data'];
type Period = Extract<Found, { metrics: unknown }>['metrics'][number];

/** Mulberry32: numbers from 0 to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Most in the afternoon; durations over five decades, with quiet minutes in the night. */
function callsOfADay(random: () => number): RawCall[] {
  const calls = Array.from({ length: CALLS }, () => {
    const functionName = FUNCTIONS[Math.floor(random() ** 2 * FUNCTIONS.length)] ?? '';
    const hour = (random() + random() + random()) * 8;
    return {
      functionName,
      endedAt: MIDNIGHT + hour * HOUR,
      durationMs: 10 ** (random() * 5 - 1),
      failed: random() < 0.03,
    };
  });
  return calls.sort((one, other) => one.endedAt - other.endedAt);
}

/** The value of this rank, counted from below. */
function trueQuantile(sorted: readonly number[], quantile: number): number {
  return sorted[Math.floor(quantile * (sorted.length - 1))] ?? Number.NaN;
}

function expectLike(period: Period, calls: readonly RawCall[]): void {
  const durations = calls.map(({ durationMs }) => durationMs).sort((one, other) => one - other);
  const average = durations.reduce((sum, ms) => sum + ms, 0) / durations.length;
  expect(period).toMatchObject({
    executionCount: calls.length,
    errorCount: calls.filter(({ failed }) => failed).length,
    maxTimeMs: Math.round(trueQuantile(durations, 1) * 1000) / 1000,
  });
  expect(Math.abs(period.avgTimeMs - average)).toBeLessThanOrEqual(0.001 + 1e-9);
  for (const [quantile, found] of [
    [0.5, period.p50TimeMs],
    [0.95, period.p95TimeMs],
    [0.99, period.p99TimeMs],
  ] as const) {
    const exact = trueQuantile(durations, quantile);
    // A percentile is rounded to the microsecond.
    expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.01 + 0.001);
  }
}

/** Compares all periods of an answer with the calls that ended in them. */
function expectPeriods(found: readonly Period[], calls: readonly RawCall[], length: number): void {
  const expected = Map.groupBy(calls, ({ endedAt }) => Math.floor(endedAt / length) * length);
  expect(found.map(({ timestamp }) => Date.parse(timestamp))).toEqual([...expected.keys()]);
  for (const period of found) expectLike(period, expected.get(Date.parse(period.timestamp)) ?? []);
}

/** Delivers batches as a bad network does: a fifth are lost, of a fifth the answer, and old ones arrive again. */
class LossyWay {
  readonly #random: () => number;
  readonly #store: MetricStore;
  readonly #arrived: MetricsBatch[] = [];
  #pending: Promise<void> = Promise.resolve();
  /** How many batches were stored when they were stored already. */
  repeated = 0;

  constructor(random: () => number, store: MetricStore) {
    this.#random = random;
    this.#store = store;
  }

  connect(reporter: MetricsReporter): void {
    reporter.connect((batch) => {
      this.#pending = this.#pending.then(() => this.#deliver(batch, reporter));
    });
  }

  /** Resolves when nothing is under way, nor what arrivals have caused. */
  async idle(): Promise<void> {
    for (let last: unknown; last !== this.#pending;) {
      last = this.#pending;
      await last;
    }
  }

  async #deliver(batch: MetricsBatch, reporter: MetricsReporter): Promise<void> {
    const luck = this.#random();
    if (luck < 0.2) return;
    if (this.#arrived.includes(batch)) this.repeated += 1;
    await this.#store.record(batch);
    this.#arrived.push(batch);
    if (luck < 0.4) return;
    const old = this.#arrived[Math.floor(this.#random() * this.#arrived.length)];
    if (luck < 0.6 && old !== undefined) await this.#store.record(old);
    reporter.stored(batch.sequence);
  }
}

describe(`metrics of a day of ${CALLS} calls through two routers, of seed ${SEED}`, () => {
  const random = randomNumbers(SEED);
  const calls = callsOfADay(random);
  const logger = new FakeLogger();
  let store: MetricStore;

  beforeAll(async () => {
    // Its clock stands still: nothing is removed.
    store = await openMetricStore({
      file: ':memory:',
      thread: startRecordsThread(),
      clock: new FakeClock(MIDNIGHT),
      logger,
    });
    const clock = new FakeClock(MIDNIGHT);
    const way = new LossyWay(random, store);
    const routers = [1, 2].map(
      () => new MetricsReporter({ clock, logger, metrics: new FakeMetrics(), intervalSeconds: () => 60 }),
    );
    for (const router of routers) way.connect(router);
    let next = 0;
    // An hour more, in which what was lost is sent again.
    while (clock.now() < MIDNIGHT + DAY + HOUR) {
      const end = clock.now() + MINUTE;
      for (let call = calls[next]; call !== undefined && call.endedAt < end; call = calls[(next += 1)])
        routers[Math.floor(random() * routers.length)]?.add(call);
      await clock.advance(MINUTE);
      await way.idle();
    }
    await Promise.all(routers.map((router) => router.close()));
    expect(way.repeated).toBeGreaterThan(100);
    expect(logger.lines).toEqual([]);
  }, 120_000);
  afterAll(() => store.close());

  /** The answer of the API at this time. */
  async function read(now: number, request: Parameters<MetricService['query']>[0]): Promise<Found> {
    const clock = new FakeClock(now);
    const options = { store: new FakeResourceStore({ clock }), metrics: store, clock, retentionDays: () => 90 };
    return (await new MetricService(options).query(request)).data;
  }

  const cases = [undefined, ...FUNCTIONS].map((functionId) => ({ functionId, of: functionId ?? 'all functions' }));
  const callsOf = (functionId: string | undefined): RawCall[] =>
    calls.filter(({ functionName }) => functionId === undefined || functionName === functionId);

  it.each(cases)('are those of the raw calls, by minute: $of', async ({ functionId }) => {
    for (let from = MIDNIGHT; from < MIDNIGHT + DAY; from += HOUR) {
      const end = from + HOUR;
      const until = new Date(end).toISOString();
      const found = await read(end - 1, {
        resolution: 'minutes',
        until,
        ...(functionId !== undefined && { functionId }),
      });
      const within = callsOf(functionId).filter(({ endedAt }) => endedAt >= from && endedAt < end);
      expectPeriods(periodsOf(found), within, MINUTE);
    }
  });

  it.each(cases)('are those of the raw calls, by hour and by day: $of', async ({ functionId }) => {
    for (const [resolution, length] of [
      ['hours', HOUR],
      ['days', DAY],
    ] as const) {
      const found = await read(MIDNIGHT + DAY - 1, { resolution, ...(functionId !== undefined && { functionId }) });
      expectPeriods(periodsOf(found), callsOf(functionId), length);
    }
  });

  it('are summed up', async () => {
    const found = await read(MIDNIGHT + DAY - 1, { resolution: 'hours' });
    const sumMs = calls.reduce((sum, { durationMs }) => sum + durationMs, 0);
    expect(found).toMatchObject({
      summary: {
        totalExecutions: CALLS,
        totalErrors: calls.filter(({ failed }) => failed).length,
        avgExecutionTime: expect.closeTo(sumMs / CALLS, 2) as number,
        maxExecutionTime: Math.round(Math.max(...calls.map(({ durationMs }) => durationMs)) * 1000) / 1000,
        periodCount: 24,
      },
    });
  });
});

function periodsOf(found: Found): readonly Period[] {
  if (!('metrics' in found)) throw new Error('the metrics are grouped by function');
  return found.metrics;
}

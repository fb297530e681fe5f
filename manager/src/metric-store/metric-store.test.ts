import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ExecutionMetrics } from '@wherry/core/ports/telemetry.ts';
import { DurationSketch } from '@wherry/service/duration-sketch.ts';
import type { MetricsQuery, MetricStore, Resolution, StoredMetrics } from './metric-store.ts';
import { startRecordsThread } from '../records/records-thread.ts';
import { openMetricStore } from './open-metric-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 20_000 * DAY + 12 * HOUR;
const ROUTER = '5f0a0a3e-0000-4000-8000-000000000001';
const OTHER = '5f0a0a3e-0000-4000-8000-000000000002';

function executions(durationsUs: readonly number[], fields: Partial<ExecutionMetrics> = {}): ExecutionMetrics {
  const sketch = new DurationSketch();
  for (const us of durationsUs) sketch.add(us);
  return {
    functionName: 'f',
    minute: NOW,
    count: durationsUs.length,
    errors: 0,
    sumUs: durationsUs.reduce((sum, us) => sum + us, 0),
    maxUs: Math.max(...durationsUs),
    bins: sketch.bins(),
    ...fields,
  };
}

describe('the metric store', () => {
  let directory: string;
  let clock: FakeClock;
  let logger: FakeLogger;
  let store: MetricStore;
  const open = (): Promise<MetricStore> =>
    openMetricStore({ file: path.join(directory, 'metrics.db'), thread: startRecordsThread(), clock, logger });
  const read = (query: Partial<MetricsQuery> = {}): Promise<StoredMetrics[]> =>
    store.query({ resolution: 'minutes', of: 'all', from: 0, until: Number.MAX_SAFE_INTEGER, limit: 1000, ...query });
  const periods = async (resolution: Resolution): Promise<number[]> =>
    (await read({ resolution })).map(({ period }) => period);

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-metrics-'));
    clock = new FakeClock(NOW);
    logger = new FakeLogger();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('adds a batch that is sent again only once, also after a restart', async () => {
    const batch = { sender: ROUTER, sequence: 1, metrics: [executions([1000, 3000], { errors: 1 })] };
    await store.record(batch);
    await store.record(batch);
    await store.close();
    store = await open();
    await store.record(batch);
    for (const resolution of ['minutes', 'hours', 'days'] as const)
      expect(await read({ resolution })).toMatchObject([{ count: 2, errors: 1, sumUs: 4000, maxUs: 3000 }]);
    await store.record({ ...batch, sequence: 2 });
    // The first one, which an operator has held back.
    await store.record(batch);
    expect(await read()).toMatchObject([{ count: 4 }]);
  });

  it('merges what several routers counted, and gives each function and all of them', async () => {
    const later = { minute: NOW + MINUTE };
    await store.record({ sender: ROUTER, sequence: 1, metrics: [executions([100]), executions([5000], later)] });
    await store.record({
      sender: OTHER,
      sequence: 1,
      metrics: [executions([300]), executions([9000, 9000], { functionName: 'g' })],
    });
    expect(await read()).toMatchObject([
      { functionName: undefined, period: NOW, count: 4, sumUs: 18_400, maxUs: 9000 },
      { functionName: undefined, period: NOW + MINUTE, count: 1 },
    ]);
    expect(await read({ of: { functionName: 'f' } })).toMatchObject([
      { functionName: 'f', period: NOW, count: 2, maxUs: 300 },
      { functionName: 'f', period: NOW + MINUTE, count: 1 },
    ]);
    expect(await read({ of: 'each', resolution: 'hours' })).toMatchObject([
      { functionName: 'f', period: NOW, count: 3, sumUs: 5400 },
      { functionName: 'g', period: NOW, count: 2 },
    ]);
    expect([await store.knows('g'), await store.knows('h'), await store.knows('')]).toEqual([true, false, false]);
  });

  it('has no percentile above the maximum', async () => {
    await store.record({ sender: ROUTER, sequence: 1, metrics: [executions([1_000_003])] });
    const [only] = await read();
    expect(only?.maxUs).toBe(1_000_003);
    for (const percentile of [only?.p50Us, only?.p95Us, only?.p99Us]) {
      expect(percentile).toBeLessThanOrEqual(1_000_003);
      expect(percentile).toBeGreaterThanOrEqual(990_000);
    }
  });

  it('gives the periods from a time on and before another, and as many as requested', async () => {
    const metrics = [0, 1, 2, 3].map((n) => executions([1], { minute: NOW + n * MINUTE }));
    await store.record({ sender: ROUTER, sequence: 1, metrics });
    const bounded = await read({ from: NOW + MINUTE, until: NOW + 3 * MINUTE });
    expect(bounded.map(({ period }) => period)).toEqual([NOW + MINUTE, NOW + 2 * MINUTE]);
    expect(await read({ limit: 3 })).toHaveLength(3);
  });

  it('removes minutes after an hour, hours after a day, and days after the setting', async () => {
    const minutesAgo = [0, 59, 60, 23 * 60, 24 * 60, 9 * 24 * 60, 10 * 24 * 60];
    const metrics = minutesAgo.map((ago) => executions([1], { minute: NOW - ago * MINUTE }));
    await store.record({ sender: ROUTER, sequence: 1, metrics });
    store.retain(10);
    expect(await periods('minutes')).toEqual([NOW - 59 * MINUTE, NOW]);
    expect(await periods('hours')).toEqual([NOW - 23 * HOUR, NOW - HOUR, NOW]);
    const today = 20_000 * DAY;
    expect(await periods('days')).toEqual([today - 9 * DAY, today - DAY, today]);
    // Without a change of the setting, each hour.
    await clock.advance(HOUR);
    expect(await periods('minutes')).toEqual([]);
    store.retain(1);
    expect(await periods('days')).toEqual([today]);
  });

  it('removes all that is old where it is more than goes at a time', async () => {
    const names = Array.from({ length: 900 }, (_, index) => `f${index}`);
    const metrics = names.map((functionName) => executions([1], { functionName, minute: NOW - 40 * DAY }));
    await store.record({ sender: ROUTER, sequence: 1, metrics });
    expect(await read({ resolution: 'days', of: 'each' })).toHaveLength(900);
    store.retain(10);
    // Other operations run between the steps: after the first, days are left.
    expect(await read({ resolution: 'days', of: 'each' })).not.toEqual([]);
    await eventually(async () => expect(await read({ resolution: 'days', of: 'each' })).toEqual([]));
    for (const resolution of ['minutes', 'hours'] as const) expect(await periods(resolution)).toEqual([]);
  });

  it('runs one query at a time: what else comes waits for no queue of them', async () => {
    const ended: string[] = [];
    const query = async (): Promise<void> => {
      await read();
      ended.push('query');
    };
    const [first, ...others] = [query(), query(), query(), query()];
    await first;
    await store.record({ sender: ROUTER, sequence: 1, metrics: [executions([1])] });
    ended.push('record');
    await Promise.all(others);
    expect(ended.at(-1)).toBe('query');
  });

  it('leaves the percentiles of a day whose sketch is gone as they are, and counts what comes late', async () => {
    const longAgo = { minute: NOW - 4 * DAY };
    await store.record({ sender: ROUTER, sequence: 1, metrics: [executions([1000], longAgo)] });
    const [before] = await read({ resolution: 'days' });
    store.retain(30);
    await store.record({ sender: ROUTER, sequence: 2, metrics: [executions([2000, 3000], longAgo)] });
    expect(await read({ resolution: 'days' })).toMatchObject([
      { count: 3, sumUs: 6000, maxUs: 3000, p50Us: before?.p50Us, p99Us: before?.p99Us },
    ]);
  });

  it('forgets a sender a month after its last batch', async () => {
    const batch = { sender: ROUTER, sequence: 1, metrics: [executions([1])] };
    await store.record(batch);
    await clock.advance(29 * DAY);
    await store.record(batch);
    expect((await read({ resolution: 'days' }))[0]?.count).toBe(1);
    await clock.advance(2 * DAY);
    // The next removal is planned when the last one is done.
    await read();
    await clock.advance(HOUR);
    await store.record(batch);
    expect((await read({ resolution: 'days' }))[0]?.count).toBe(2);
  });

  it('sets a damaged database aside, and starts a new one', async () => {
    await store.close();
    await rm(path.join(directory, 'metrics.db-wal'), { force: true });
    await writeFile(
      path.join(directory, 'metrics.db'),
      'this is not a database, and long enough to show it '.repeat(20),
    );
    store = await open();
    expect(await read()).toEqual([]);
    expect(await readdir(directory)).toContain('metrics.db.damaged');
    expect(logger.lines).toMatchObject([{ level: 'warn' }]);
  });

  it('says in one line why a database cannot be opened', async () => {
    const file = path.join(directory, 'missing', 'metrics.db');
    await expect(openMetricStore({ file, thread: startRecordsThread(), clock, logger })).rejects.toThrow(
      /^The database of metrics .* cannot be opened/,
    );
  });
});

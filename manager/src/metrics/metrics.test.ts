import supertest from 'supertest';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import type { ExecutionMetrics } from '@wherry/core/ports/telemetry.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';
import { MetricService } from './metric-service.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SENDER = '5f0a0a3e-0000-4000-8000-000000000001';

describe('GET /api/metrics', () => {
  let manager: TestManager;
  /** The begin of the current minute, hour and day: 1 January 2026. */
  let now: number;
  let id: string;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const data = async (query: string): Promise<unknown> =>
    ((await api().get(`/api/metrics?${query}`).expect(200)).body as { data: unknown }).data;
  const executions = (minutesAgo: number, fields: Partial<ExecutionMetrics> = {}): ExecutionMetrics => ({
    functionName: id,
    minute: now - minutesAgo * MINUTE,
    count: 1,
    errors: 0,
    sumUs: 1000,
    maxUs: 1000,
    // A bin whose value is within 1 % of a millisecond.
    bins: [346, 1],
    ...fields,
  });

  beforeAll(async () => {
    manager = await startTestManager();
    now = manager.clock.now();
    expect(now % DAY).toBe(0);
    const created = await api()
      .post('/api/functions')
      .send({ name: 'f', handler: 'a/b.ts', route: '/f', methods: ['GET'] })
      .expect(201);
    id = (created.body as { function: { id: string } }).function.id;
    await manager.executions.record({
      sender: SENDER,
      sequence: 1,
      metrics: [
        executions(0, { count: 3, errors: 1, sumUs: 3001, maxUs: 1001, bins: [346, 3] }),
        executions(59),
        executions(60),
        executions(23 * 60),
        executions(24 * 60),
        executions(89 * 24 * 60),
        executions(90 * 24 * 60),
        executions(0, { functionName: 'gone', maxUs: 2000 }),
      ],
    });
  });
  afterAll(() => manager.stop());

  const time = (ms: number): string => new Date(ms).toISOString();

  it('gives counts, times in milliseconds to the microsecond, and a summary, of one function', async () => {
    expect(await data(`resolution=minutes&functionId=${id}`)).toEqual({
      metrics: [
        expect.objectContaining({ timestamp: time(now - 59 * MINUTE), executionCount: 1 }),
        {
          timestamp: time(now),
          executionCount: 3,
          errorCount: 1,
          avgTimeMs: 1,
          maxTimeMs: 1.001,
          p50TimeMs: expect.closeTo(1, 1) as number,
          p95TimeMs: expect.closeTo(1, 1) as number,
          p99TimeMs: expect.closeTo(1, 1) as number,
        },
      ],
      functionId: id,
      resolution: 'minutes',
      summary: { totalExecutions: 4, totalErrors: 1, avgExecutionTime: 1, maxExecutionTime: 1.001, periodCount: 2 },
    });
  });

  it('gives all functions together, the last 60 minutes, 24 hours, and the days of the setting', async () => {
    expect(await data('resolution=minutes')).toMatchObject({
      functionId: null,
      metrics: [{ executionCount: 1 }, { executionCount: 4, maxTimeMs: 2 }],
    });
    expect(await data('resolution=hours')).toMatchObject({
      metrics: [
        { timestamp: time(now - 23 * HOUR), executionCount: 1 },
        { timestamp: time(now - HOUR), executionCount: 2 },
        { timestamp: time(now), executionCount: 4 },
      ],
    });
    expect(await data('resolution=days')).toMatchObject({
      metrics: [
        { timestamp: time(now - 89 * DAY), executionCount: 1 },
        { timestamp: time(now - DAY), executionCount: 4 },
        { timestamp: time(now), executionCount: 4 },
      ],
    });
  });

  it('gives each function with groupBy, those that are gone too', async () => {
    expect(await data('resolution=days&groupBy=function')).toEqual({
      functions: {
        gone: [expect.objectContaining({ timestamp: time(now), executionCount: 1 })],
        [id]: [
          expect.objectContaining({ timestamp: time(now - 89 * DAY) }),
          expect.objectContaining({ timestamp: time(now - DAY), executionCount: 4 }),
          expect.objectContaining({ timestamp: time(now), executionCount: 3 }),
        ],
      },
      resolution: 'days',
    });
  });

  it('gives the periods that begin at since or later and before until', async () => {
    const since = encodeURIComponent(time(now - 23 * HOUR));
    const until = encodeURIComponent(time(now));
    expect(await data(`resolution=hours&since=${since}&until=${until}`)).toMatchObject({
      metrics: [{ timestamp: time(now - 23 * HOUR) }, { timestamp: time(now - HOUR) }],
    });
    const after = encodeURIComponent(time(now - 23 * HOUR + 1));
    expect(await data(`resolution=hours&since=${after}`)).toMatchObject({
      metrics: [{ timestamp: time(now - HOUR) }, { timestamp: time(now) }],
    });
  });

  it('gives an empty series where there is none', async () => {
    const until = encodeURIComponent(time(0));
    expect(await data(`resolution=hours&until=${until}`)).toEqual({
      metrics: [],
      functionId: null,
      resolution: 'hours',
      summary: { totalExecutions: 0, totalErrors: 0, avgExecutionTime: 0, maxExecutionTime: 0, periodCount: 0 },
    });
  });

  it('keeps the metrics of a function that is gone, and does not know one that never was', async () => {
    expect(await data('resolution=days&functionId=gone')).toMatchObject({ summary: { totalExecutions: 1 } });
    const { body } = await api().get('/api/metrics?resolution=days&functionId=never-was').expect(404);
    expect(body).toMatchObject({ code: 'not_found', error: 'There is no function with the id never-was.' });
  });

  it.each([
    ['functionId=f', 'resolution'],
    ['resolution=weeks', 'resolution'],
    ['resolution=days&groupBy=route', 'groupBy'],
    ['resolution=days&groupBy=function&functionId=gone', 'groupBy'],
    ['resolution=days&since=yesterday', 'since'],
    ['resolution=days&until=2026', 'until'],
    ['resolution=days&limit=3', 'limit'],
  ])('refuses %s, and names %s', async (query, path) => {
    const { body } = await api().get(`/api/metrics?${query}`).expect(400);
    expect(body).toMatchObject({ code: 'validation_failed', details: [{ path }] });
  });

  it('refuses to answer with more periods than it may', async () => {
    const clock = new FakeClock(now);
    const options = { store: new FakeResourceStore({ clock }), metrics: manager.executions, clock };
    const service = new MetricService({ ...options, retentionDays: () => 90, maxPeriods: 3 });
    await expect(service.query({ resolution: 'days', groupBy: 'function' })).rejects.toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'since' }],
    });
    await expect(service.query({ resolution: 'days', groupBy: 'function', since: time(now) })).resolves.toBeDefined();
  });

  it('follows metrics.retention-days', async () => {
    await api()
      .put('/api/settings')
      .send({ settings: { 'metrics.retention-days': '2' } })
      .expect(200);
    expect(await data('resolution=days')).toMatchObject({ summary: { periodCount: 2, totalExecutions: 8 } });
    await api()
      .put('/api/settings')
      .send({ settings: { 'metrics.retention-days': '90' } })
      .expect(200);
    // What was removed does not come back.
    expect(await data('resolution=days')).toMatchObject({ summary: { periodCount: 2 } });
  });
});

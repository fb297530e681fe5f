import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * Metrics of executions, from a call through the router to the API.
 */

interface Series {
  metrics: { timestamp: string; executionCount: number; errorCount: number; maxTimeMs: number; p50TimeMs: number }[];
  summary: { totalExecutions: number; totalErrors: number; maxExecutionTime: number };
}

const HANDLER = `
export default async (c) => {
  const { act = 'answer' } = c.req.query();
  if (act === 'throw') throw new Error('on purpose');
  if (act === 'exit') process.exit(0);
  if (act === 'wait') await new Promise((resolve) => setTimeout(resolve, 100));
  if (act === 'hang') await new Promise(() => {});
  return c.text(act, act === 'fail' ? 500 : 200);
};`;

let platform: Platform;
let api: ApiClient;
let id: string;
let hangingId: string;

const run = (target: string): Promise<Answer> => send(`${platform.functionUrl}/run${target}`);
const metrics = async (query: string): Promise<unknown> => (await api.expect('GET', `/api/metrics?${query}`)).body.data;

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  await api.source('measured', { 'h.js': HANDLER });
  await api.expect('PUT', '/api/settings', { settings: { 'metrics.aggregation-interval-seconds': '10' } });
  const handler = 'measured/h.js';
  id = await api.readyFunction({ name: 'measured', handler, route: '/measured' });
  hangingId = await api.readyFunction({ name: 'hanging', handler, route: '/hanging', timeoutSeconds: 1 });
}, 60_000);

afterAll(async () => {
  await api?.expect('PUT', '/api/settings', { settings: { 'metrics.aggregation-interval-seconds': null } });
  await platform?.dispose();
}, 30_000);

it('metrics count executions, those that failed, and their times, and no call that reached no instance', async () => {
  const statuses = [];
  for (const query of ['', '?act=fail', '?act=wait', '?act=throw', '?act=exit'])
    statuses.push((await run(`/measured${query}`)).status);
  expect(statuses).toEqual([200, 500, 200, 500, 502]);
  expect((await run('/hanging?act=hang')).status).toBe(504);
  expect((await send(`${platform.functionUrl}/run/measured`, { method: 'DELETE' })).status).toBe(405);

  const seriesOf = (functionId: string, calls: number): Promise<Series> =>
    eventually(async () => {
      const found = (await metrics(`resolution=hours&functionId=${functionId}`)) as Series;
      expect(found.summary.totalExecutions).toBe(calls);
      return found;
    }, 40_000);
  const series = await seriesOf(id, 5);
  expect(series.summary.totalErrors).toBe(2);
  const hanging = await seriesOf(hangingId, 1);
  expect(hanging.summary).toMatchObject({ totalErrors: 1 });
  expect(hanging.summary.maxExecutionTime).toBeGreaterThanOrEqual(900);
  for (const resolution of ['minutes', 'hours', 'days']) {
    const all = (await metrics(`resolution=${resolution}&functionId=${id}`)) as Series;
    expect(all.summary).toEqual(series.summary);
    const { functions } = (await metrics(`resolution=${resolution}&groupBy=function`)) as {
      functions: Record<string, Series['metrics']>;
    };
    expect(functions[id]).toEqual(all.metrics);
  }
}, 90_000);

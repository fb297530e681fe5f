import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { eventually, GOOD_KEY, Harness, routerFunction } from '../testing/harness.ts';
import { LogQueue } from './log-queue.ts';
import { RejectionLog } from './rejection-log.ts';

const entry = (n: number): LogEntry => ({
  functionName: 'f',
  requestId: 'r',
  level: 'exec_start',
  message: String(n),
  args: null,
  sequence: 0,
  timestamp: n,
});

describe('LogQueue', () => {
  it('sends a batch after 50 ms, or at once when it is full', async () => {
    const clock = new FakeClock();
    const sizes: number[] = [];
    const queue = new LogQueue(clock, new FakeMetrics());
    queue.connect({ send: (batch) => sizes.push(batch.entries.length), isCongested: () => false });
    queue.write(entry(1));
    queue.write(entry(2));
    expect(sizes).toEqual([]);
    await clock.advance(50);
    expect(sizes).toEqual([2]);
    for (let n = 0; n < 50; n++) queue.write(entry(n));
    expect(sizes).toEqual([2, 50]);
  });

  it('takes size and delay of batches from the settings, as they are at each moment', async () => {
    const clock = new FakeClock();
    const sizes: number[] = [];
    let batching = { maxEntries: 3, maxDelayMs: 200 };
    const queue = new LogQueue(clock, new FakeMetrics(), () => batching);
    for (let n = 0; n < 7; n++) queue.write(entry(n));
    queue.connect({ send: (batch) => sizes.push(batch.entries.length), isCongested: () => false });
    expect(sizes.splice(0)).toEqual([3, 3, 1]);
    queue.write(entry(1));
    await clock.advance(199);
    expect(sizes).toEqual([]);
    await clock.advance(1);
    expect(sizes.splice(0)).toEqual([1]);
    batching = { maxEntries: 1, maxDelayMs: 5000 };
    queue.write(entry(1));
    expect(sizes).toEqual([1]);
  });

  it('without anybody to send to it keeps the newest of at most 10,000 and counts the rest', () => {
    const metrics = new FakeMetrics();
    const queue = new LogQueue(new FakeClock(), metrics);
    for (let n = 0; n < 35_000; n++) queue.write(entry(n));
    const messages: string[] = [];
    let dropped = 0;
    const send = (batch: { entries: { message: string }[]; dropped: number }): void => {
      messages.push(...batch.entries.map((item) => item.message));
      dropped += batch.dropped;
    };
    queue.connect({ send, isCongested: () => false });
    expect(messages).toEqual(Array.from(messages, (_, at) => String(35_000 - messages.length + at)));
    expect(messages.length).toBeLessThanOrEqual(10_000);
    expect(messages.length).toBeGreaterThanOrEqual(8750);
    expect([dropped, metrics.value('telemetry_dropped_total')]).toEqual([
      35_000 - messages.length,
      35_000 - messages.length,
    ]);
  });

  it('holds no more than 8 MiB, and sends no more than 1 MiB at once, however long the entries are', () => {
    const queue = new LogQueue(new FakeClock(), new FakeMetrics());
    for (let n = 0; n < 5000; n++) queue.write({ ...entry(n), message: 'x'.repeat(8192) });
    const sizes: number[] = [];
    let reported = 0;
    const send = (batch: { entries: { message: string }[]; dropped: number }): void => {
      sizes.push(batch.entries.reduce((sum, { message }) => sum + message.length, 0));
      reported += batch.entries.length + batch.dropped;
    };
    queue.connect({ send, isCongested: () => false });
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
    expect(reported).toBe(5000);
  });

  it("S8: while nobody takes them, a busy function's refused calls push out no entry of another, nor of its own calls", () => {
    const queue = new LogQueue(new FakeClock(), new FakeMetrics());
    queue.write({ ...entry(0), functionName: 'quiet' });
    queue.write(entry(-1));
    for (let n = 0; n < 35_000; n++) queue.write({ ...entry(n), level: 'exec_reject' });
    const kept: LogEntry[] = [];
    queue.connect({ send: ({ entries }) => kept.push(...(entries as LogEntry[])), isCongested: () => false });
    expect(kept.slice(0, 3).map(({ functionName, message }) => [functionName, message])).toEqual([
      ['quiet', '0'],
      ['f', '-1'],
      ['f', expect.any(String)],
    ]);
  });

  it('keeps entries while their reader lags, and sends them when it has caught up', async () => {
    const clock = new FakeClock();
    const queue = new LogQueue(clock, new FakeMetrics());
    let congested = true;
    const sizes: number[] = [];
    queue.connect({ send: (batch) => sizes.push(batch.entries.length), isCongested: () => congested });
    for (let n = 0; n < 700; n++) queue.write(entry(n));
    await clock.advance(1000);
    expect(sizes).toEqual([]);
    congested = false;
    await clock.advance(50);
    expect(sizes).toEqual(Array.from({ length: 14 }, () => 50));
  });
});

describe('records of calls', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
    const instance = await harness.instance((req, res) => void req.resume().on('end', () => res.writeHead(201).end()));
    await harness.serve([routerFunction({ route: '/hello/:name', keyGroups: ['team'], instances: [instance] })]);
  });
  afterEach(() => harness.stop());

  it('are a start and an end in the log, with the path and never the query', async () => {
    const headers = { 'X-API-Key': GOOD_KEY, Origin: 'https://app.example' };
    const answer = await harness.call('/run/hello/a%20b?q=secret', { method: 'POST', body: 'four', headers });
    await eventually(() => harness.logs('exec_end').length === 1);
    const requestId = answer.headers['x-request-id'];
    const [start, end] = harness.logs();
    expect(start).toMatchObject({
      functionName: 'hello',
      requestId,
      level: 'exec_start',
      message: 'POST /hello/a%20b',
    });
    expect(JSON.parse(start?.args ?? '')).toEqual({
      origin: 'https://app.example',
      keyGroup: 'team',
      contentLength: 4,
    });
    expect(end).toMatchObject({ functionName: 'hello', requestId, level: 'exec_end', args: null });
    expect(end?.message).toMatch(/^\d+(?:\.\d{1,3})?ms$/);
    expect(end!.timestamp).toBeGreaterThanOrEqual(start!.timestamp);
    expect(end!.sequence).toBeGreaterThan(start!.sequence);
    expect(JSON.stringify(harness.up)).not.toContain('secret');
  });

  it('R6: do not show the key of the call, wherever else in it the caller put it', async () => {
    const escaped = [...GOOD_KEY].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
    for (const path of [GOOD_KEY, escaped, `x${GOOD_KEY}y`]) {
      await harness.call(`/run/hello/${path}`, {
        headers: { 'X-API-Key': GOOD_KEY, Origin: `https://${GOOD_KEY}.example` },
      });
    }
    await eventually(() => harness.logs('exec_end').length === 3);
    expect(harness.logs('exec_start').map(({ message }) => message)).toEqual(Array(3).fill('GET /hello/***'));
    expect(JSON.stringify(harness.up)).not.toContain(GOOD_KEY);
    expect(JSON.stringify(harness.up)).not.toContain(escaped);
  });

  it('are metrics under bounded labels', async () => {
    await harness.call('/run/hello/one', { headers: { 'X-API-Key': GOOD_KEY } });
    await harness.call('/run/hello/two');
    const fn = { function_namespace: 'default', function_name: 'hello' };
    const labels = { ...fn, route: '/hello/:name', method: 'GET' };
    expect(harness.metrics.value('function_calls_total', { ...labels, code: '201' })).toBe(1);
    expect(harness.metrics.value('function_calls_total', { ...labels, code: '401' })).toBe(1);
    expect(harness.metrics.observations('function_duration_seconds', fn)).toHaveLength(1);
    expect(harness.metrics.value('function_info', { ...fn, function_revision: 'r1' })).toBe(1);
    expect(harness.metrics.observations('router_overhead_seconds')).toHaveLength(1);
    expect(harness.metrics.value('function_inflight', { function_name: 'hello' })).toBe(0);
    expect(harness.metrics.value('auth_rejections_total', { reason: 'missing_api_key' })).toBe(1);
  });

  it('S8: of refused calls a hundred a minute have an entry each, the others are counted by reason', async () => {
    const clock = new FakeClock();
    const entries: LogEntry[] = [];
    const log = new RejectionLog(clock, (item) => entries.push(item));
    const refuse = (functionName: string, requestId: string, reason: string): void =>
      log.write({ functionName, requestId, reason }, () => ({
        ...entry(0),
        functionName,
        requestId,
        level: 'exec_reject',
      }));
    for (let n = 0; n < 4200; n++) refuse('hello', `id-${n}`, n % 3 === 0 ? 'invalid_api_key' : 'missing_api_key');
    refuse('other', 'its own', 'missing_api_key');
    expect(entries.map(({ requestId }) => requestId)).toEqual([
      ...Array.from({ length: 100 }, (_, n) => `id-${n}`),
      'its own',
    ]);
    await clock.advance(60_000);
    const more = entries
      .slice(101)
      .map(({ functionName, requestId, level, args }) => [functionName, requestId, level, args]);
    expect(more).toEqual([
      ['hello', 'id-4199', 'exec_reject', '{"reason":"missing_api_key","count":2734}'],
      ['hello', 'id-4197', 'exec_reject', '{"reason":"invalid_api_key","count":1366}'],
    ]);
    refuse('hello', 'of the next minute', 'missing_api_key');
    log.close();
    expect(entries.slice(103).map(({ requestId }) => requestId)).toEqual(['of the next minute']);
    expect(clock.pending).toBe(0);
  });

  it('S8: 4,200 calls without a key leave what the good calls wrote, and are all counted', async () => {
    await harness.call('/run/hello/good', { headers: { 'X-API-Key': GOOD_KEY } });
    const bad = 'GET /run/hello/bad HTTP/1.1\r\nHost: a\r\n';
    const answers = await harness.raw(`${bad}\r\n`.repeat(4199) + `${bad}Connection: close\r\n\r\n`);
    expect(answers.match(/HTTP\/1\.1 401 /g)).toHaveLength(4200);
    await eventually(() => harness.logs('exec_end').length === 1 && harness.logs('exec_reject').length === 100);
    expect(harness.logs('exec_start').map(({ message }) => message)).toEqual(['GET /hello/good']);
    await harness.router.drain({ lameDuckMs: 0, boundMs: 0 });
    await eventually(() => harness.logs('exec_reject').length === 101);
    const counts = harness
      .logs('exec_reject')
      .map(({ args }) => (JSON.parse(args ?? '') as { count?: number }).count ?? 1);
    expect(counts.reduce((sum, count) => sum + count)).toBe(4200);
    expect(harness.metrics.value('auth_rejections_total', { reason: 'missing_api_key' })).toBe(4200);
  });
});

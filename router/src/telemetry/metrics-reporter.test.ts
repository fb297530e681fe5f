import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { routerUpSchema, type RouterUp } from '@wherry/core/feed/messages.ts';
import { Harness, routerFunction } from '../testing/harness.ts';
import type { Execution } from './execution-counter.ts';
import { MetricsReporter } from './metrics-reporter.ts';

type Batch = Extract<RouterUp, { type: 'metrics' }>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

/** A reporter at the begin of a minute, and what it has sent. */
function start(settings = { intervalSeconds: 60 }) {
  const clock = new FakeClock(1000 * MINUTE_MS);
  const metrics = new FakeMetrics();
  const logger = new FakeLogger();
  const sent: Batch[] = [];
  const reporter = new MetricsReporter({ clock, logger, metrics, intervalSeconds: () => settings.intervalSeconds });
  const send = (batch: Batch): void => void sent.push(routerUpSchema.parse(structuredClone(batch)) as Batch);
  reporter.connect(send);
  const add = (fields: Partial<Execution> = {}): void =>
    reporter.add({ functionName: 'f', endedAt: clock.now(), durationMs: 1, failed: false, ...fields });
  return { clock, metrics, logger, sent, reporter, send, add };
}

const counts = (batches: readonly Batch[]): number[][] =>
  batches.map(({ sequence, metrics }) => [sequence, ...metrics.map(({ count }) => count)]);

describe('MetricsReporter', () => {
  it('sends, when the minute ends, what each function did in it', async () => {
    const { clock, sent, add } = start();
    add({ durationMs: 1.2345 });
    add({ durationMs: 7, failed: true });
    add({ functionName: 'g', durationMs: 0 });
    await clock.advance(MINUTE_MS - 1);
    expect(sent).toEqual([]);
    await clock.advance(1);
    const minute = 1000 * MINUTE_MS;
    expect(sent.map(({ metrics }) => metrics)).toEqual([
      [
        {
          functionName: 'f',
          minute,
          count: 2,
          errors: 1,
          sumUs: 8235,
          maxUs: 7000,
          bins: expect.any(Array) as number[],
        },
        { functionName: 'g', minute, count: 1, errors: 0, sumUs: 0, maxUs: 0, bins: [0, 1] },
      ],
    ]);
  });

  it('sends nothing while nothing is called', async () => {
    const { clock, sent, reporter } = start();
    await clock.advance(10 * MINUTE_MS);
    await reporter.close();
    expect(sent).toEqual([]);
  });

  it('sends each interval of the setting', async () => {
    const { clock, sent, add, reporter } = start({ intervalSeconds: 10 });
    add();
    await clock.advance(10_000);
    reporter.stored(1);
    add();
    await clock.advance(10_000);
    expect(counts(sent)).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it('sends what it has counted already by a new interval as soon as the setting changes', async () => {
    const settings = { intervalSeconds: 60 };
    const { clock, sent, add, reporter } = start(settings);
    reporter.followInterval();
    add();
    settings.intervalSeconds = 10;
    reporter.followInterval();
    await clock.advance(10_000);
    expect(counts(sent)).toEqual([[1, 1]]);
    reporter.stored(1);
    reporter.followInterval();
    await clock.advance(MINUTE_MS);
    expect(sent).toHaveLength(1);
  });

  it('sends a batch again, as it was, until it is stored, and only then the next', async () => {
    const { clock, sent, add, reporter } = start();
    add();
    await clock.advance(MINUTE_MS);
    add();
    add();
    await clock.advance(MINUTE_MS);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
    reporter.stored(1);
    expect(counts(sent)).toEqual([
      [1, 1],
      [1, 1],
      [2, 2],
    ]);
    // Late answers to the first two change nothing.
    reporter.stored(1);
    await clock.advance(MINUTE_MS);
    expect(counts(sent).at(-1)).toEqual([2, 2]);
    expect(new Set(sent.map(({ sender }) => sender)).size).toBe(1);
  });

  it('sends what is not stored again on the next connection', async () => {
    const { clock, sent, add, reporter, send } = start();
    add();
    await clock.advance(MINUTE_MS);
    reporter.connect(undefined);
    add();
    await clock.advance(MINUTE_MS);
    expect(sent).toHaveLength(1);
    reporter.connect(send);
    expect(counts(sent)).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('adds up what a function did in a minute while nothing is stored', async () => {
    const { clock, sent, add, reporter } = start({ intervalSeconds: 10 });
    for (let n = 0; n < 4; n++) {
      add({ durationMs: n });
      await clock.advance(10_000);
    }
    reporter.stored(1);
    expect(sent.at(-1)?.metrics).toMatchObject([{ count: 3, sumUs: 6000, maxUs: 3000 }]);
  });

  it('divides many functions over batches, one after the other', async () => {
    const { clock, sent, add, reporter } = start();
    for (let n = 0; n < 1200; n++) add({ functionName: `f${n}` });
    await clock.advance(MINUTE_MS);
    for (let sequence = 1; sequence <= 3; sequence++) reporter.stored(sequence);
    expect(sent.map(({ metrics }) => metrics.length)).toEqual([500, 500, 200]);
  });

  it('gives up what could not be sent for a day, and counts it', async () => {
    const { clock, metrics, sent, add, reporter, send } = start();
    reporter.connect(undefined);
    // The first batch is on its way, and kept.
    add();
    await clock.advance(MINUTE_MS);
    add();
    add();
    await clock.advance(MINUTE_MS);
    await clock.advance(DAY_MS);
    add();
    await clock.advance(MINUTE_MS);
    expect(metrics.value('execution_metrics_dropped_total')).toBe(2);
    reporter.connect(send);
    reporter.stored(1);
    expect(counts(sent)).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it('keeps no more than 20,000 functions and minutes waiting', async () => {
    const { clock, metrics, add, reporter } = start();
    reporter.connect(undefined);
    for (let n = 0; n < 20_600; n++) add({ functionName: `f${n}` });
    await clock.advance(MINUTE_MS);
    expect(metrics.value('execution_metrics_dropped_total')).toBe(600);
  });

  it('sends the open interval when it ends, and waits until it is stored', async () => {
    const { clock, logger, sent, add, reporter } = start();
    add();
    let ended = false;
    const closing = reporter.close().then(() => (ended = true));
    expect(counts(sent)).toEqual([[1, 1]]);
    await clock.advance(1);
    expect(ended).toBe(false);
    reporter.stored(1);
    await closing;
    expect(logger.lines).toEqual([]);
  });

  it.each([
    ['nothing is connected', undefined],
    ['no answer comes', () => undefined],
  ])('says how many executions it could not send when it ends and %s', async (_name, send) => {
    const { clock, logger, add, reporter } = start();
    reporter.connect(send);
    add();
    add();
    const closing = reporter.close();
    await clock.advance(2000);
    await closing;
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { executions: 2 } }]);
  });
});

describe('executions', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.stop());

  /** What the router reports when it ends, of all batches. */
  async function reported(): Promise<{ count: number; errors: number }> {
    await harness.router.drain({ lameDuckMs: 0, boundMs: 0 });
    const metrics = harness.up.flatMap((message) => (message.type === 'metrics' ? message.metrics : []));
    return {
      count: metrics.reduce((sum, { count }) => sum + count, 0),
      errors: metrics.reduce((sum, { errors }) => sum + errors, 0),
    };
  }

  it.each([
    ['200', 200, {}, { count: 1, errors: 0 }],
    ["a handler's own 500", 500, {}, { count: 1, errors: 0 }],
  ])('answered with %s are no errors', async (_name, status, headers, expected) => {
    const instance = await harness.instance((_req, res) => void res.writeHead(status, headers).end());
    await harness.serve([routerFunction({ instances: [instance] })]);
    expect((await harness.call('/run/hello')).status).toBe(status);
    expect(await reported()).toEqual(expected);
  });

  it('of an instance that dies are errors', async () => {
    const instance = await harness.instance((req) => void req.socket.destroy());
    await harness.serve([routerFunction({ instances: [instance] })]);
    expect((await harness.call('/run/hello')).status).toBe(502);
    expect(await reported()).toEqual({ count: 1, errors: 1 });
  });

  it('that take too long are errors', async () => {
    const instance = await harness.instance(() => undefined);
    await harness.serve([routerFunction({ instances: [instance], timeoutMs: 50 })]);
    expect((await harness.call('/run/hello')).status).toBe(504);
    expect(await reported()).toEqual({ count: 1, errors: 1 });
  });

  it('are none of calls that were rejected, or reached no instance', async () => {
    const gone = { id: 'gone', revision: 'r1', address: { path: harness.socketPath('nobody.sock') }, token: 't' };
    await harness.serve([
      routerFunction({ id: 'guarded', route: '/guarded', keyGroups: ['team'], instances: [gone] }),
      routerFunction({ id: 'none', route: '/none', timeoutMs: 50 }),
    ]);
    expect((await harness.call('/run/guarded')).status).toBe(401);
    expect((await harness.call('/run/none')).status).toBe(503);
    expect(await reported()).toEqual({ count: 0, errors: 0 });
  });
});

import { conflict } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { createController, createReconcileMetrics, RESYNC_MS, type Controller } from './controller.ts';
import { DONE, requeueAfter, stalled, waitingFor, type Outcome } from './outcome.ts';

describe('a controller', () => {
  let clock: FakeClock;
  let logger: FakeLogger;
  let metrics: FakeMetrics;
  let controller: Controller;
  let runs: { name: string; at: number }[];

  function make(reconcile: (name: string, run: number) => Outcome, all?: () => string[]): void {
    clock = new FakeClock();
    logger = new FakeLogger();
    metrics = new FakeMetrics();
    runs = [];
    controller = createController({
      name: 'test',
      reconcile: async (name) => {
        runs.push({ name, at: clock.monotonic() });
        return reconcile(name, runs.filter((run) => run.name === name).length);
      },
      ...(all === undefined ? {} : { all }),
      clock,
      logger,
      metrics: createReconcileMetrics(metrics),
      random: () => 0,
    });
    controller.start();
  }
  afterEach(() => controller.stop());

  it('retries what throws, each time after twice as long, and begins again after a success', async () => {
    make((_name, run) => {
      if (run === 4 || run > 5) return DONE;
      throw new Error('trouble');
    });
    controller.enqueue('a');
    await clock.advance(2000);
    expect(runs.map(({ at }) => at)).toEqual([0, 100, 300, 700]);
    controller.enqueue('a');
    await clock.advance(2000);
    expect(runs.map(({ at }) => at).slice(4)).toEqual([2000, 2100]);
    expect(logger.of('warn')).toHaveLength(4);
    expect(metrics.value('reconcile_total', { controller: 'test', result: 'error' })).toBe(4);
  });

  it('K5: one that always throws does not hold up others', async () => {
    make((name) => {
      if (name === 'bad') throw new Error('trouble');
      return DONE;
    });
    for (const name of ['bad', 'a', 'b']) controller.enqueue(name);
    await clock.advance(0);
    expect(runs.map(({ name }) => name)).toEqual(['bad', 'a', 'b']);
  });

  it('retries a conflict soon and says nothing of it', async () => {
    make((_name, run) => {
      if (run < 3) throw conflict('somebody else wrote');
      return DONE;
    });
    controller.enqueue('a');
    await clock.advance(30);
    expect(runs).toHaveLength(3);
    expect(logger.lines).toEqual([]);
    expect(metrics.value('reconcile_total', { result: 'conflict' })).toBe(2);
  });

  it.each([
    [DONE, 'done', 1],
    [waitingFor('the build'), 'waiting', 1],
    [stalled('Invalid'), 'stalled', 1],
    [requeueAfter(400), 'requeue_after', 3],
  ])('counts the outcome %j as %s and runs it %i times in a second', async (outcome, result, times) => {
    make(() => outcome);
    controller.enqueue('a');
    await clock.advance(1000);
    expect(runs).toHaveLength(times);
    expect(metrics.value('reconcile_total', { controller: 'test', result })).toBe(times);
    expect(metrics.observations('reconcile_duration_seconds', { controller: 'test' })).toHaveLength(times);
  });

  it('looks at every object again at each resync', async () => {
    make(
      () => DONE,
      () => ['a', 'b'],
    );
    await clock.advance(2 * RESYNC_MS);
    expect(runs.map(({ name }) => name)).toEqual(['a', 'b', 'a', 'b']);
  });
});

import { createMetrics, createProgramMetrics } from './metrics.ts';

describe('createMetrics', () => {
  it('prints counters, gauges and histograms with prefix, help and labels', async () => {
    const { metrics, registry } = createMetrics();
    metrics.counter({ type: 'counter', name: 'calls_total', help: 'Calls.', labels: ['code'] }).inc({ code: '200' }, 2);
    const inflight = metrics.gauge({ type: 'gauge', name: 'inflight', help: 'Running calls.', labels: [] });
    inflight.inc();
    inflight.inc({}, -1);
    metrics.histogram({ type: 'histogram', name: 'duration_seconds', help: 'How long.', labels: [] }).observe(0.02);
    const text = await registry.metrics();
    expect(text).toContain('# HELP wherry_calls_total Calls.');
    expect(text).toContain('wherry_calls_total{code="200"} 2');
    expect(text).toContain('wherry_inflight 0');
    expect(text).toContain('wherry_duration_seconds_bucket{le="0.01"} 0');
    expect(text).toContain('wherry_duration_seconds_bucket{le="0.025"} 1');
  });

  it('refuses a name that is made twice', () => {
    const { metrics } = createMetrics();
    metrics.gauge({ type: 'gauge', name: 'leader', help: 'One.', labels: [] });
    expect(() => metrics.gauge({ type: 'gauge', name: 'leader', help: 'Two.', labels: [] })).toThrow(
      /already been registered/,
    );
  });

  it('exposes at each scrape what an observed gauge has then, and nothing of what it had', async () => {
    const { metrics, registry } = createMetrics();
    const revisions = new Map([
      ['f', 'one'],
      ['g', 'two'],
    ]);
    metrics
      .gauge({ type: 'gauge', name: 'info', help: 'Which.', labels: ['name', 'revision'] })
      .observe(() => [...revisions].map(([name, revision]) => [{ name, revision }, 1]));
    expect(await registry.metrics()).toContain(
      'wherry_info{name="f",revision="one"} 1\nwherry_info{name="g",revision="two"} 1\n',
    );
    revisions.delete('g');
    revisions.set('f', 'three');
    expect((await registry.metrics()).match(/^wherry_info.*$/gm)).toEqual(['wherry_info{name="f",revision="three"} 1']);
  });

  describe('series', () => {
    const NAME = ['name'];
    const make = (metrics: ReturnType<typeof createMetrics>['metrics'], name: string) => {
      const series = metrics.series({ name });
      return {
        series,
        calls: series.counter({ type: 'counter', name: 'calls_total', help: 'Calls.', labels: [...NAME, 'code'] }),
        seconds: series.histogram({ type: 'histogram', name: 'seconds', help: 'How long.', labels: NAME }),
        running: series.gauge({ type: 'gauge', name: 'running', help: 'Now.', labels: NAME }),
      };
    };

    it('of one metric stand together below its help, each with the labels of its group', async () => {
      const { metrics, registry } = createMetrics();
      metrics.gauge({ type: 'gauge', name: 'leader', help: 'One.', labels: [] }).set(1);
      for (const name of ['a', 'b']) {
        const { calls, seconds, running } = make(metrics, name);
        calls.inc({ code: '200' });
        seconds.observe(0.3);
        running.inc();
      }
      const text = await registry.metrics();
      expect(text).toContain('# HELP wherry_leader One.\n# TYPE wherry_leader gauge\nwherry_leader 1\n');
      expect(text).toContain(
        '# HELP wherry_calls_total Calls.\n# TYPE wherry_calls_total counter\nwherry_calls_total{code="200",name="a"} 1\nwherry_calls_total{code="200",name="b"} 1\n\n',
      );
      expect(text).toContain('wherry_running{name="b"} 1\n');
      expect(text.match(/^wherry_seconds_bucket\{le="0.5",name="."\} 1$/gm)).toHaveLength(2);
      expect(text.match(/^# TYPE /gm)).toHaveLength(4);
    });

    it('go together when they are removed, and what is recorded late brings back none', async () => {
      const { metrics, registry } = createMetrics();
      const [gone, stays] = [make(metrics, 'gone'), make(metrics, 'stays')];
      for (const { calls, running } of [gone, stays]) {
        calls.inc({ code: '200' });
        running.inc();
      }
      gone.series.remove();
      gone.calls.inc({ code: '500' });
      gone.seconds.observe(1);
      gone.running.inc({}, -1);
      const text = await registry.metrics();
      expect(text).not.toContain('gone');
      expect(text).toContain('wherry_running{name="stays"} 1\n');
    });

    it('of a thousand groups are written in slices, between which the event loop goes on', async () => {
      const { metrics, registry } = createMetrics();
      for (let n = 0; n < 1000; n += 1) make(metrics, `name-${n}`).calls.inc({ code: '200' });
      let turns = 0;
      let over = false;
      const turn = (): void => {
        turns += 1;
        if (!over) setImmediate(turn);
      };
      setImmediate(turn);
      const text = await registry.metrics();
      over = true;
      expect(text.match(/^wherry_calls_total\{/gm)).toHaveLength(1000);
      expect(turns).toBeGreaterThanOrEqual(40);
    });
  });

  it('exposes for a program what every process has, too, beside its own metrics', async () => {
    const { metrics, registry } = createProgramMetrics();
    metrics.gauge({ type: 'gauge', name: 'leader', help: 'One.', labels: [] });
    const text = await registry.metrics();
    expect(Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(1_000_000);
    expect(text).toMatch(/^process_cpu_seconds_total \S+$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m);
    expect(text).toContain('# HELP wherry_leader One.');
  });
});

import { createMetrics, createProgramMetrics } from './metrics.ts';

describe('createMetrics', () => {
  it('prints counters, gauges and histograms with prefix, help and labels', async () => {
    const { metrics, registry } = createMetrics();
    metrics.counter('calls_total', 'Calls.', ['code']).inc({ code: '200' }, 2);
    const inflight = metrics.gauge('inflight', 'Running calls.');
    inflight.inc();
    inflight.inc({}, -1);
    metrics.histogram('duration_seconds', 'How long.').observe(0.02);
    const text = await registry.metrics();
    expect(text).toContain('# HELP wherry_calls_total Calls.');
    expect(text).toContain('wherry_calls_total{code="200"} 2');
    expect(text).toContain('wherry_inflight 0');
    expect(text).toContain('wherry_duration_seconds_bucket{le="0.01"} 0');
    expect(text).toContain('wherry_duration_seconds_bucket{le="0.025"} 1');
  });

  it('refuses a name that is made twice', () => {
    const { metrics } = createMetrics();
    metrics.gauge('leader', 'One.');
    expect(() => metrics.gauge('leader', 'Two.')).toThrow(/already been registered/);
  });

  it('tells of a program what every process has, too, beside its own figures', async () => {
    const { metrics, registry } = createProgramMetrics();
    metrics.gauge('leader', 'One.');
    const text = await registry.metrics();
    expect(Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(1_000_000);
    expect(text).toMatch(/^process_cpu_seconds_total \S+$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m);
    expect(text).toContain('# HELP wherry_leader One.');
  });
});

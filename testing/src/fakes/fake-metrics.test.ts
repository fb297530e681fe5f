import { FakeLogger } from './fake-logger.ts';
import { FakeMetrics } from './fake-metrics.ts';

describe('FakeMetrics', () => {
  it('gives counters, gauges and histograms back, by labels', () => {
    const metrics = new FakeMetrics();
    const calls = metrics.counter({ type: 'counter', name: 'calls', help: 'Calls.', labels: ['code', 'method'] });
    calls.inc({ code: '200', method: 'GET' });
    calls.inc({ code: '200', method: 'GET' }, 2);
    calls.inc({ code: '500', method: 'GET' });
    expect([
      metrics.value('calls'),
      metrics.value('calls', { code: '200' }),
      metrics.value('calls', { code: '404' }),
    ]).toEqual([4, 3, 0]);
    const running = metrics.gauge({ type: 'gauge', name: 'running', help: 'Running.', labels: [] });
    running.set(5);
    running.inc({}, -2);
    expect(metrics.value('running')).toBe(3);
    metrics.histogram({ type: 'histogram', name: 'seconds', help: 'Seconds.', labels: [] }).observe(0.5);
    expect(metrics.observations('seconds')).toEqual([0.5]);
  });

  it('is as strict as the real one', () => {
    const metrics = new FakeMetrics();
    const calls = metrics.counter({ type: 'counter', name: 'calls', help: 'Calls.', labels: ['code'] });
    expect(() => calls.inc({ path: '/a' })).toThrow('has no label path');
    expect(() => metrics.gauge({ type: 'gauge', name: 'calls', help: 'Again.', labels: [] })).toThrow('made twice');
    expect(() => metrics.value('call')).toThrow('no metric call');
  });
});

describe('FakeLogger', () => {
  it('keeps the lines of its children with their fields', () => {
    const logger = new FakeLogger();
    logger.child({ part: 'router' }).child({ id: 1 }).warn({ id: 2 }, 'slow');
    logger.info({}, 'started');
    expect(logger.lines).toEqual([
      { level: 'warn', fields: { part: 'router', id: 2 }, message: 'slow' },
      { level: 'info', fields: {}, message: 'started' },
    ]);
    expect(logger.of('warn')).toHaveLength(1);
  });
});

import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { FakeTelemetry } from '@wherry/testing/fakes/fake-telemetry.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { createLogIntake } from './log-intake.ts';

const entry = (fields: Partial<LogEntry> = {}): LogEntry =>
  logEntry({ functionName: 'chatty', timestamp: 1000, ...fields });
const logs = (...entries: LogEntry[]) => ({ type: 'logs' as const, entries, dropped: 0 });
const many = (count: number, fields: Partial<LogEntry> = {}): LogEntry[] =>
  Array.from({ length: count }, (_, at) => entry({ sequence: at, ...fields }));

function intake() {
  const telemetry = new FakeTelemetry();
  const metrics = new FakeMetrics();
  const clock = new FakeClock(1000);
  return { telemetry, metrics, clock, logs: createLogIntake({ telemetry, metrics, clock }) };
}

describe('the intake of log entries', () => {
  it('M10: keeps 8192 entries of a function at once and 1024 a second after that; what is beyond is counted, and said in its log', async () => {
    const world = intake();
    for (let at = 0; at < 100; at += 1) world.logs.fromRuntime(logs(...many(500)), 'chatty');
    expect(world.telemetry.entries).toHaveLength(8192);
    expect(world.metrics.value('telemetry_dropped_total', { component: 'runtime', reason: 'rate' })).toBe(
      50_000 - 8192,
    );
    await world.clock.advance(10_000);
    expect(world.telemetry.entries.slice(8192)).toEqual([
      entry({
        requestId: '',
        level: 'warn',
        message: '41808 log entries were dropped: the function logs faster than its rate allows',
        timestamp: world.clock.now(),
      }),
    ]);
    world.telemetry.entries.length = 0;
    await world.clock.advance(1000);
    world.logs.fromRuntime(logs(...many(500)), 'chatty');
    expect(world.telemetry.entries).toHaveLength(500);
  });

  it('M10: bounds the bytes of a function as well: 8 MiB at once', () => {
    const world = intake();
    for (let at = 0; at < 62; at += 1)
      world.logs.fromRuntime(logs(entry({ message: '\u0001'.repeat(64 * 1024) })), 'chatty');
    expect(world.telemetry.entries).toHaveLength(21);
    expect(world.metrics.value('telemetry_dropped_total', { reason: 'rate' })).toBe(41);
  });

  it("S8: a function over its rate takes nothing from another's entries, nor from the records of its own calls; refused calls have a rate of their own", () => {
    const world = intake();
    for (let at = 0; at < 100; at += 1) world.logs.fromRuntime(logs(...many(500)), 'chatty');
    for (let at = 0; at < 100; at += 1) world.logs.fromRouter(logs(...many(500, { level: 'exec_reject' })));
    world.telemetry.entries.length = 0;
    world.logs.fromRuntime(logs(entry()), 'quiet');
    world.logs.fromRouter(logs(entry({ level: 'exec_start' })));
    expect(world.telemetry.entries.map(({ functionName, level }) => [functionName, level])).toEqual([
      ['quiet', 'log'],
      ['chatty', 'exec_start'],
    ]);
  });

  it('says in the log of a function what its own instance had to drop, and waits for nothing once it is silent', async () => {
    const world = intake();
    world.logs.fromRuntime({ ...logs(entry()), dropped: 7 }, 'chatty');
    await world.clock.advance(10_000);
    expect(world.telemetry.entries.map(({ message }) => message)).toEqual([
      'm',
      '7 log entries were dropped: the function logs faster than its rate allows',
    ]);
    expect(world.metrics.value('telemetry_dropped_total', { component: 'runtime', reason: 'congested' })).toBe(7);
    expect(world.clock.pending).toBe(0);
  });

  it('S8: an instance that claims to have lost more than it could print is not believed: ten million in ten seconds at most', async () => {
    const world = intake();
    for (let at = 0; at < 50; at += 1) world.logs.fromRuntime({ ...logs(), dropped: 1_000_000 }, 'chatty');
    world.logs.fromRuntime({ ...logs(), dropped: 2 }, 'quiet');
    const counted = (): number =>
      world.metrics.value('telemetry_dropped_total', { component: 'runtime', reason: 'congested' });
    expect(counted()).toBe(10_000_002);
    await world.clock.advance(10_000);
    expect(world.telemetry.entries.map(({ message }) => message)).toEqual([
      '10000000 log entries were dropped: the function logs faster than its rate allows',
      '2 log entries were dropped: the function logs faster than its rate allows',
    ]);
    world.logs.fromRuntime({ ...logs(), dropped: 5 }, 'chatty');
    expect(counted()).toBe(10_000_007);
    world.logs.stop();
  });

  it('reports what was dropped when it ends', () => {
    const world = intake();
    world.logs.fromRuntime({ ...logs(), dropped: 3 }, 'chatty');
    world.logs.stop();
    expect([world.telemetry.entries.map(({ message }) => message), world.clock.pending]).toEqual([
      ['3 log entries were dropped: the function logs faster than its rate allows'],
      0,
    ]);
  });
});

import { DomainError, invalid } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/core/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { createTelemetryPoster, type TelemetryPoster } from './post-telemetry.ts';

const entry = (sequence: number, message = 'x'): LogEntry => ({ functionName: 'hello', requestId: 'r', level: 'log', message, args: null, sequence, timestamp: 1 });
const entries = (from: number, count: number): LogEntry[] => Array.from({ length: count }, (_, at) => entry(from + at));

let clock: FakeClock;
let batches: LogEntry[][];
let failure: Error | undefined;
let dropped: number;
let poster: TelemetryPoster;
beforeEach(() => {
  clock = new FakeClock();
  batches = [];
  failure = undefined;
  dropped = 0;
  poster = createTelemetryPoster({
    async send(body) {
      await Promise.resolve();
      if (failure !== undefined) throw failure;
      batches.push(JSON.parse(body) as LogEntry[]);
    },
    onDropped: (count) => (dropped += count),
    clock,
    logger: new FakeLogger(),
  });
});

const sequences = (): number[] => batches.flat().map(({ sequence }) => sequence);

describe('the telemetry poster', () => {
  it('sends what comes close together in one batch, in order', async () => {
    poster.write(entries(1, 2));
    poster.write(entries(3, 1));
    await clock.advance(200);
    expect(batches).toEqual([entries(1, 3)]);
    poster.write(entries(4, 1));
    await clock.advance(200);
    expect(sequences()).toEqual([1, 2, 3, 4]);
  });

  it('keeps entries while the manager is away, and sends them in order when it is back', async () => {
    failure = new DomainError('unavailable', 'The manager cannot be reached.');
    for (let at = 0; at < 50; at += 1) {
      poster.write(entries(at * 100, 100));
      await clock.advance(1000);
    }
    expect(batches).toEqual([]);
    failure = undefined;
    await clock.advance(20_000);
    expect(sequences()).toEqual(Array.from({ length: 5000 }, (_, at) => at));
    expect(dropped).toBe(0);
  });

  it('drops the oldest when too many wait, and counts them', async () => {
    failure = new DomainError('unavailable', 'The manager cannot be reached.');
    for (let at = 0; at < 250; at += 1) {
      poster.write(entries(at * 100, 100));
      await clock.advance(100);
    }
    failure = undefined;
    await clock.advance(30_000);
    expect(sequences()).toEqual(Array.from({ length: 20_000 }, (_, at) => at + 5000));
    expect(dropped).toBe(5000);
  });

  it('holds no more than 16 MiB, however large the entries are', async () => {
    failure = new DomainError('unavailable', 'The manager cannot be reached.');
    for (let at = 0; at < 40; at += 1) poster.write([entry(at, 'x'.repeat(1024 * 1024))]);
    failure = undefined;
    await clock.advance(30_000);
    expect(sequences()).toEqual(Array.from({ length: 15 }, (_, at) => at + 25));
    expect(dropped).toBe(25);
  });

  it('loses a batch that the manager refuses, not those after it', async () => {
    failure = invalid('no entry');
    poster.write(entries(1, 3));
    await clock.advance(200);
    failure = undefined;
    poster.write(entries(4, 1));
    await clock.advance(200);
    expect(sequences()).toEqual([4]);
    expect(dropped).toBe(3);
  });

  it('sends what waits before it ends, or counts it as lost', async () => {
    poster.write(entries(1, 5000));
    await poster.stop();
    expect(sequences()).toHaveLength(5000);
    expect(dropped).toBe(0);
  });

  it('ends all the same while the manager is away', async () => {
    failure = new DomainError('unavailable', 'The manager cannot be reached.');
    poster.write(entries(1, 3));
    await poster.stop();
    expect(dropped).toBe(3);
  });
});

import { DomainError, invalid } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { TelemetryPoster } from './post-telemetry.ts';

const entry = (sequence: number, message = 'x'): LogEntry => logEntry({ sequence, message });
const entries = (from: number, count: number): LogEntry[] => Array.from({ length: count }, (_, at) => entry(from + at));

/** What the manager takes at most. */
const MANAGER_BYTES = 16 * 1024 * 1024;
/** The manager refuses a batch that holds such an entry; of the other kind it takes the rest. */
const POISON = 'poison';
const STRANGE = 'strange';

let clock: FakeClock;
let batches: LogEntry[][];
let failure: Error | undefined;
let dropped: number;
let requests: number;
let afterBatch: () => void;
let poster: TelemetryPoster;
beforeEach(() => {
  clock = new FakeClock();
  batches = [];
  failure = undefined;
  dropped = 0;
  requests = 0;
  afterBatch = () => undefined;
  poster = new TelemetryPoster({
    async send(body) {
      await Promise.resolve();
      if (failure !== undefined) throw failure;
      if (Buffer.byteLength(body) > MANAGER_BYTES)
        throw new DomainError('too_large', 'The JSON body is over its limit.');
      const batch = JSON.parse(body) as LogEntry[];
      requests += 1;
      if (batch.some(({ message }) => message === POISON)) throw invalid('no entry');
      batches.push(batch);
      afterBatch();
      return batch.filter(({ message }) => message === STRANGE).length;
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
    const kept = sequences();
    expect(kept).toEqual(Array.from(kept, (_, at) => 25_000 - kept.length + at));
    expect(kept.length).toBeLessThanOrEqual(20_000);
    expect(kept.length).toBeGreaterThanOrEqual(17_500);
    expect(dropped).toBe(25_000 - kept.length);
  });

  it('holds no more than 16 MiB, however large the entries are', async () => {
    failure = new DomainError('unavailable', 'The manager cannot be reached.');
    for (let at = 0; at < 40; at += 1) poster.write([entry(at, 'x'.repeat(1024 * 1024))]);
    failure = undefined;
    await clock.advance(30_000);
    const kept = sequences();
    expect(kept).toEqual(Array.from(kept, (_, at) => 40 - kept.length + at));
    expect(kept.length).toBeLessThanOrEqual(15);
    expect(kept.length).toBeGreaterThanOrEqual(13);
    expect(dropped).toBe(40 - kept.length);
  });

  it('S8: 62 lines of control characters are sent in batches that the manager takes, and take no other entry along', async () => {
    poster.write(Array.from({ length: 62 }, (_, at) => entry(at, '\u0001'.repeat(64 * 1024))));
    poster.write([{ ...entry(62), functionName: 'other' }]);
    await clock.advance(2000);
    expect(sequences()).toHaveLength(63 - dropped);
    expect(sequences().at(-1)).toBe(62);
    // 24 MiB as they are sent: the oldest of them do not fit.
    expect(dropped).toBeLessThan(32);
    for (const batch of batches) expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  it("S8: while the manager is away, a chatty function's entries push out none of another's", async () => {
    failure = new DomainError('unavailable', 'The manager cannot be reached.');
    poster.write([{ ...entry(-1), functionName: 'quiet' }]);
    for (let at = 0; at < 30; at += 1) poster.write(entries(at * 1000, 1000));
    failure = undefined;
    await clock.advance(30_000);
    expect(batches.flat()[0]).toMatchObject({ functionName: 'quiet', sequence: -1 });
  });

  it('S8: a batch that the manager refuses is divided until the entry to blame is alone', async () => {
    const written = entries(0, 2000);
    for (const at of [0, 700, 1999]) written[at] = entry(at, POISON);
    poster.write(written);
    await clock.advance(200);
    expect(sequences()).toEqual(written.map(({ sequence }) => sequence).filter((at) => ![0, 700, 1999].includes(at)));
    expect(dropped).toBe(3);
    expect(requests).toBeLessThan(100);
  });

  it('keeps the order when the manager goes away between the parts of a batch', async () => {
    const written = entries(0, 100);
    written[99] = entry(99, POISON);
    poster.write(written);
    afterBatch = () => (failure = new DomainError('unavailable', 'The manager cannot be reached.'));
    await clock.advance(200);
    expect(sequences()).toHaveLength(50);
    [afterBatch, failure] = [() => undefined, undefined];
    await clock.advance(20_000);
    expect(sequences()).toEqual(Array.from({ length: 99 }, (_, at) => at));
    expect(dropped).toBe(1);
  });

  it('counts the entries of a batch that the manager did not accept', async () => {
    poster.write([entry(1), entry(2, STRANGE), entry(3)]);
    await clock.advance(200);
    expect(dropped).toBe(1);
  });

  it('loses a batch that the manager refuses, not those after it', async () => {
    failure = new DomainError('not_found', 'The internal listener has nothing at this path.');
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

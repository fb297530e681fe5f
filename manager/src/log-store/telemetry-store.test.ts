import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { openTelemetryStore } from './open-telemetry-store.ts';
import type { TelemetryStore } from './telemetry-store.ts';

const entry = (fields: Partial<LogEntry> = {}): LogEntry =>
  logEntry({ functionName: 'fn', timestamp: 1_000_000, ...fields });

const MIB = 1024 * 1024;

describe('the telemetry store', () => {
  let directory: string;
  let clock: FakeClock;
  let logger: FakeLogger;
  let metrics: FakeMetrics;
  let store: TelemetryStore;
  let maxBytes: number;
  const open = (): Promise<TelemetryStore> =>
    openTelemetryStore({ file: path.join(directory, 'telemetry.db'), maxBytes, clock, logger, metrics });
  const messages = async (limit = 1000): Promise<string[]> =>
    (await store.query({ limit })).map(({ message }) => message);

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-telemetry-'));
    clock = new FakeClock(10_000_000);
    maxBytes = 256 * MIB;
    logger = new FakeLogger();
    metrics = new FakeMetrics();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('gives entries newest first: by time, by sequence, by arrival, whatever the order of arrival', async () => {
    store.write([entry({ message: 'b0', timestamp: 2.5 }), entry({ message: 'c', timestamp: 3 })]);
    store.write([
      entry({ message: 'a', timestamp: 1 }),
      entry({ message: 'b1', timestamp: 2.5, sequence: 1 }),
      entry({ message: 'b1 later', timestamp: 2.5, sequence: 1 }),
    ]);
    expect(await messages()).toEqual(['c', 'b1 later', 'b1', 'b0', 'a']);
  });

  it('gives back every field as it was written', async () => {
    const written = entry({
      requestId: 'x',
      level: 'exec_end',
      message: '1.5ms\u0000"ü',
      args: '{"a":1}',
      sequence: 7,
      timestamp: 1234.567,
    });
    store.write([written]);
    expect(await store.query({ limit: 1 })).toEqual([{ ...written, id: 1 }]);
  });

  it('filters and pages without skipping or repeating while new entries come', async () => {
    store.write(
      Array.from({ length: 25 }, (_, index) =>
        entry({ message: `${index}`, timestamp: Math.floor(index / 5), level: index % 2 === 0 ? 'log' : 'error' }),
      ),
    );
    store.write([entry({ functionName: 'other', message: 'other' })]);
    const seen: string[] = [];
    let after: Parameters<TelemetryStore['query']>[0]['after'];
    for (;;) {
      const page = await store.query({ functionName: 'fn', levels: ['log'], limit: 4, after });
      if (page.length === 0) break;
      seen.push(...page.map(({ message }) => message));
      after = page.at(-1);
      store.write([entry({ message: 'newer', timestamp: 99 })]);
    }
    expect(seen).toEqual(Array.from({ length: 13 }, (_, index) => String(24 - 2 * index)));
    expect(await store.query({ requestId: 'nobody', limit: 5 })).toEqual([]);
  });

  it('keeps entries over a restart, and knows functions that are gone', async () => {
    store.write([entry({ message: 'kept' })]);
    await store.close();
    metrics = new FakeMetrics();
    store = await open();
    expect(await messages()).toEqual(['kept']);
    expect([await store.knows('fn'), await store.knows('nothing')]).toEqual([true, false]);
  });

  it('writes by itself, shortly after an entry came', async () => {
    store.write([entry()]);
    const pending = clock.pending;
    await clock.advance(25);
    expect(clock.pending).toBe(pending - 1);
  });

  it('never holds more than a bound for each function, whatever is written before a look', async () => {
    store.retain({ maxPerFunction: 100, retentionSeconds: 0, intervalSeconds: 300 });
    for (let round = 0; round < 20; round += 1) {
      store.write(
        Array.from({ length: 90 }, (_, index) =>
          entry({ message: `${round * 90 + index}`, timestamp: round * 90 + index }),
        ),
      );
      expect((await messages()).length).toBeLessThanOrEqual(300);
    }
    store.write([entry({ functionName: 'quiet', message: 'quiet', timestamp: 0 })]);
    await clock.advance(300_000);
    const left = await messages();
    expect(left).toHaveLength(101);
    expect([left[0], left.at(-1)]).toEqual(['1799', 'quiet']);
  });

  it('S8: refused calls have a budget of their own, and push out nothing that the calls of their function left', async () => {
    store.retain({ maxPerFunction: 100, retentionSeconds: 0, intervalSeconds: 300 });
    // Answered after the trim that `retain` begins, whose end arms the timer of the next one.
    expect(await messages()).toEqual([]);
    const own = Array.from({ length: 80 }, (_, index) => entry({ message: `own ${index}`, timestamp: index }));
    store.write(own);
    store.write(
      Array.from({ length: 4200 }, (_, index) =>
        entry({ level: 'exec_reject', message: `refused ${index}`, timestamp: 1000 + index }),
      ),
    );
    await clock.advance(300_000);
    const kept = await store.query({ functionName: 'fn', limit: 1000 });
    expect(kept.filter(({ level }) => level === 'log').map(({ message }) => message)).toEqual(
      own.map(({ message }) => message).reverse(),
    );
    const refused = kept.filter(({ level }) => level === 'exec_reject');
    expect([refused.length, refused[0]?.message, refused.at(-1)?.message]).toEqual([
      100,
      'refused 4199',
      'refused 4100',
    ]);
  });

  it('lets entries go when they are too old', async () => {
    store.write([entry({ message: 'old', timestamp: 8_000_000 }), entry({ message: 'new', timestamp: 9_500_000 })]);
    expect(await messages()).toEqual(['new', 'old']);
    store.retain({ maxPerFunction: 2000, retentionSeconds: 1000, intervalSeconds: 300 });
    expect(await messages()).toEqual(['new']);
  });

  it('drops the oldest when they come faster than they are written, and counts them', async () => {
    store.retain({ maxPerFunction: 100_000, retentionSeconds: 0, intervalSeconds: 300 });
    store.write(Array.from({ length: 50_010 }, (_, index) => entry({ message: `${index}`, timestamp: index })));
    const kept = await store.query({ limit: 60_000 });
    expect(kept.length).toBeLessThanOrEqual(50_000);
    expect(kept.length).toBeGreaterThanOrEqual(43_750);
    expect([kept[0]?.message, kept.at(-1)?.message]).toEqual(['50009', String(50_010 - kept.length)]);
    expect(store.dropped()).toBe(50_010 - kept.length);
    expect(metrics.value('log_entries_lost_total')).toBe(50_010 - kept.length);
  });

  it('counts what the database refuses, and goes on once it takes entries again', async () => {
    const other = new DatabaseSync(path.join(directory, 'telemetry.db'));
    other.exec('BEGIN IMMEDIATE');
    store.write([entry({ message: 'refused' }), entry({ message: 'refused too' })]);
    // The query comes after the write, which waits for the lock for five seconds and gives up.
    expect(await messages()).toEqual([]);
    expect([store.dropped(), metrics.value('log_entries_lost_total')]).toEqual([2, 2]);
    expect(logger.of('warn').length).toBeGreaterThan(0);
    other.exec('ROLLBACK');
    other.close();
    store.write([entry({ message: 'taken' })]);
    expect(await messages()).toEqual(['taken']);
  }, 40_000);

  it('counts what comes after its end', async () => {
    await store.close();
    store.write([entry({ message: 'late' }), entry({ message: 'later' })]);
    expect(metrics.value('log_entries_lost_total')).toBe(2);
  });

  it('bounds what one entry may hold', async () => {
    store.write([entry({ message: 'x'.repeat(1_000_000), args: JSON.stringify(['y'.repeat(1_000_000)]) })]);
    const [kept] = await store.query({ limit: 1 });
    expect(kept!.message.length).toBe(262_144);
    expect(JSON.parse(kept!.args!)).toEqual(['(too long to keep)']);
  });

  describe('with a limit of its size', () => {
    /** What it takes on the disk, with the write-ahead log. */
    const onDisk = async (): Promise<number> => {
      const names = await readdir(directory);
      const sizes = await Promise.all(names.map(async (name) => (await stat(path.join(directory, name))).size));
      return sizes.reduce((sum, size) => sum + size, 0);
    };
    const reopen = async (bytes: number): Promise<void> => {
      await store.close();
      metrics = new FakeMetrics();
      maxBytes = bytes;
      store = await open();
      store.retain({ maxPerFunction: 100_000, retentionSeconds: 0, intervalSeconds: 300 });
    };
    const chatter = async (count: number, bytes: number, from = 0): Promise<void> => {
      const size = bytes > 1024 ? 50 : 1000;
      for (let at = from; at < from + count; at += size) {
        store.write(
          Array.from({ length: size }, (_, index) =>
            entry({ functionName: 'chatty', message: `${at + index} ${'x'.repeat(bytes)}`, timestamp: at + index }),
          ),
        );
        await store.knows('chatty');
      }
    };

    it.each([
      ['long', 1000, 64 * 1024, { limit: 16 * MIB, most: 32 * MIB }],
      // All of them would take 18 MiB.
      ['short', 80_000, 100, { limit: 4 * MIB, most: 12 * MIB }],
    ])(
      'M10: stays within it, whatever is written: %s entries',
      async (_what, count, bytes, { limit, most }) => {
        await reopen(limit);
        let largest = 0;
        for (let at = 0; at < count; at += count / 20) {
          await chatter(count / 20, bytes, at);
          largest = Math.max(largest, await onDisk());
        }
        // Beside it, the write-ahead log and the transaction that is under way.
        expect(largest).toBeLessThanOrEqual(most);
        const kept = await store.query({ functionName: 'chatty', limit: 100_000 });
        expect(kept[0]?.timestamp).toBe(count - 1);
        expect(kept.map(({ timestamp }) => timestamp)).toEqual(kept.map((_, index) => count - 1 - index));
        // What it holds is not much less than it may.
        expect(kept.length * (bytes + 300)).toBeGreaterThan(limit / 2);
      },
      40_000,
    );

    it("S8: a chatty function's entries push out none of another's, however old those are", async () => {
      await reopen(16 * MIB);
      const quiet = Array.from({ length: 500 }, (_, index) =>
        entry({ functionName: 'quiet', message: `${index}`, timestamp: -1000 + index }),
      );
      store.write(quiet);
      await chatter(1000, 32 * 1024);
      const kept = await store.query({ functionName: 'quiet', limit: 1000 });
      expect(kept.map(({ message }) => message)).toEqual(quiet.map(({ message }) => message).reverse());
      expect((await store.query({ functionName: 'chatty', limit: 5000 })).length).toBeLessThan(600);
    });

    it('gives the disk back when the limit is lowered, also of a database of before there was one', async () => {
      await store.close();
      const older = new DatabaseSync(path.join(directory, 'older.db'));
      older.exec('PRAGMA auto_vacuum = NONE; CREATE TABLE t (x); DROP TABLE t;');
      older.close();
      await rename(path.join(directory, 'older.db'), path.join(directory, 'telemetry.db'));
      await reopen(256 * MIB);
      await chatter(500, 64 * 1024);
      await reopen(16 * MIB);
      await chatter(50, 10, 2000);
      await store.close();
      expect(await onDisk()).toBeLessThanOrEqual(16 * MIB);
    });
  });

  it('sets a damaged file aside, says so, and begins again: lost logs stop no function', async () => {
    const file = path.join(directory, 'other.db');
    const damaged = 'this is not a database, and long enough to be looked at as one'.repeat(20);
    await writeFile(file, damaged);
    const other = await openTelemetryStore({ file, maxBytes, clock, logger });
    other.write([entry({ message: 'again' })]);
    expect((await other.query({ limit: 10 })).map(({ message }) => message)).toEqual(['again']);
    await other.close();
    expect(await readFile(`${file}.damaged`, 'utf8')).toBe(damaged);
    expect(logger.of('warn')).toHaveLength(1);
  });

  it('names a file that it cannot open, and what to do', async () => {
    const file = path.join(directory, 'no-such-folder', 'telemetry.db');
    await expect(openTelemetryStore({ file, maxBytes, clock, logger })).rejects.toThrow(/no-such-folder.*move it away/);
  });

  it('takes nothing and answers unavailable after it was closed', async () => {
    await store.close();
    store.write([entry()]);
    await expect(store.query({ limit: 1 })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

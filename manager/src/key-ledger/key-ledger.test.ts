import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { openTelemetryStore } from '../log-store/open-telemetry-store.ts';
import type { TelemetryStore } from '../log-store/telemetry-store.ts';
import { openKeyLedger, type OwnedKeyLedger } from './open-key-ledger.ts';

const MINUTE = 60_000;

describe('the key ledger', () => {
  const clock = new FakeClock();
  const logger = new FakeLogger();
  let directory: string;
  let store: TelemetryStore;
  let ledger: OwnedKeyLedger;
  const open = async (): Promise<void> => {
    store = await openTelemetryStore({
      file: path.join(directory, 'telemetry.db'),
      maxBytes: 64 * 1024 * 1024,
      clock,
      logger,
    });
    ledger = await openKeyLedger({ store, clock, logger });
  };

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-ledger-'));
    await open();
  });
  afterEach(async () => {
    await ledger.stop();
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('knows the newest use of each key at once, whoever reports it, and none in the future', () => {
    const now = clock.now();
    ledger.used({ a: now - 10, b: now - 5 });
    ledger.used({ a: now - 20, b: now + MINUTE });
    expect(['a', 'b', 'c'].map((key) => ledger.lastUsedAt(key))).toEqual([now - 10, now, undefined]);
  });

  it('writes a key once a minute at the most, all keys together, and only those that were used', async () => {
    const save = jest.spyOn(store, 'saveUses');
    for (let round = 1; round <= 60; round += 1) {
      ledger.used({ a: clock.now(), b: clock.now() });
      await clock.advance(1000);
    }
    expect(save).toHaveBeenCalledTimes(1);
    expect(Object.keys(save.mock.calls[0]?.[0] ?? {})).toEqual(['a', 'b']);
    ledger.used({ b: clock.now() });
    await clock.advance(5 * MINUTE);
    expect(save.mock.calls.map(([uses]) => Object.keys(uses))).toEqual([['a', 'b'], ['b']]);
  });

  it('has after a restart what it had before, without the keys that are gone', async () => {
    const now = clock.now();
    ledger.used({ a: now, b: now - 1, c: now - 2 });
    await ledger.stop();
    ledger.forget(['b', 'never-used']);
    await ledger.stop();
    await store.close();
    await open();
    expect(ledger.keys().sort()).toEqual(['a', 'c']);
    expect([ledger.lastUsedAt('a'), ledger.lastUsedAt('b')]).toEqual([now, undefined]);
  });

  it('keeps what it could not write, and writes it later', async () => {
    const save = jest.spyOn(store, 'saveUses').mockRejectedValueOnce(new Error('disk full'));
    ledger.used({ a: clock.now() });
    await clock.advance(MINUTE);
    expect(logger.of('warn')).toHaveLength(1);
    await clock.advance(MINUTE);
    expect(save).toHaveBeenCalledTimes(2);
    expect(await store.uses()).toHaveProperty('a');
  });
});

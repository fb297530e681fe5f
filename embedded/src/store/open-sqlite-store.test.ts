import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { resourceStoreContract } from '@wherry/testing/contracts/resource-store-contract.ts';
import { described, group, refusal, take } from '@wherry/testing/contracts/resource-store-samples.ts';
import type { NewResource } from '@wherry/core/ports/resource-store.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { MIGRATIONS } from './object-table.ts';
import { openDatabase } from './open-database.ts';
import { openSqliteStore } from './open-sqlite-store.ts';
import { SqliteStore } from './sqlite-store.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-store-'));
  file = path.join(folder, 'wherry.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (history?: number) =>
  openSqliteStore({ file, namespace: 'wherry', clock: Date, ...(history !== undefined && { history }) });

resourceStoreContract('The store on SQLite', async () => {
  // The model test opens many within one test: each its own file.
  const own = mkdtempSync(path.join(folder, 'run-'));
  const store = await openSqliteStore({ file: path.join(own, 'wherry.db'), namespace: 'wherry', clock: Date });
  return { store, close: () => store.close() };
});

describe('The store on SQLite: the file', () => {
  it('holds everything after it is opened again, and goes on counting', async () => {
    const first = await open();
    const created = await first.create(group('team', 'first'));
    const { resourceVersion } = await first.list('KeyGroup');
    await first.close();
    const second = await open();
    expect(await second.get('KeyGroup', 'team')).toEqual(created);
    expect((await second.list('KeyGroup')).resourceVersion).toBe(resourceVersion);
    const watching = take(second, 'KeyGroup', { resourceVersion, count: 1 });
    const updated = await second.update(described(created, 'second'));
    expect(await watching).toEqual([{ type: 'modified', object: updated }]);
    await second.close();
  });

  it('does not hand out a resourceVersion a second time after the newest object was deleted', async () => {
    const first = await open();
    const { metadata } = await first.create(group('team'));
    await first.delete('KeyGroup', 'team');
    await first.close();
    const second = await open();
    const again = await second.create(group('team'));
    expect(Number(again.metadata.resourceVersion)).toBe(Number(metadata.resourceVersion) + 2);
    await second.close();
  });

  it('is for its owner alone, the write-ahead log too', async () => {
    writeFileSync(file, '', { mode: 0o644 });
    const store = await open();
    await store.create(group('team'));
    for (const name of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(name).mode & 0o777).toBe(0o600);
    await store.close();
  });

  it('is written through to the disk at every commit', () => {
    const database = openDatabase(file, MIGRATIONS);
    expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    database.close();
  });

  it('keeps namespaces apart', async () => {
    const mine = await open();
    await mine.create(group('team'));
    await mine.close();
    const other = await openSqliteStore({ file, namespace: 'other', clock: Date });
    expect(await other.get('KeyGroup', 'team')).toBeUndefined();
    expect((await other.create(group('team'))).metadata.namespace).toBe('other');
    await other.close();
  });

  it('refuses a file of a newer version, naming it, and leaves it as it is', async () => {
    await (await open()).close();
    const newer = new DatabaseSync(file);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    await expect(open()).rejects.toThrow(StartError);
    await expect(open()).rejects.toThrow(`${file} was written by a newer Wherry (schema 99`);
  });

  it.each([
    ['text', () => Buffer.from('this is no database, but long enough to look at\n'.repeat(100))],
    ['a cut header', () => readFileSync(file).subarray(0, 50)],
    ['a cut file', () => readFileSync(file).subarray(0, 8192)],
    ['an overwritten page', () => readFileSync(file).fill(0xa5, 8192, 16_384)],
  ])('refuses a damaged file (%s), naming it', async (_what, damage) => {
    const store = await open();
    for (let i = 0; i < 50; i += 1) await store.create(group(`team-${i}`, 'x'.repeat(500)));
    await store.close();
    writeFileSync(file, damage());
    const error = await open().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(StartError);
    expect((error as StartError).message).toContain(file);
    expect((error as StartError).message).toContain('restore it from a backup');
  });

  it('refuses a path that cannot be written, naming it', async () => {
    file = path.join(folder, 'absent', 'wherry.db');
    await expect(open()).rejects.toThrow(file);
  });
});

describe('The store on SQLite: the history for watches', () => {
  it('ends a watch from too old a state as expired, and one at its end nothing of the kind', async () => {
    const store = await open(5);
    const versions: string[] = [];
    let object = await store.create(group('team', '0'));
    for (let i = 1; i <= 10; i += 1) {
      versions.push(object.metadata.resourceVersion);
      object = await store.update(described(object, String(i)));
    }
    const late = await refusal(take(store, 'KeyGroup', { resourceVersion: versions.at(-6)!, count: 1 }), 'conflict');
    expect(late.message).toMatch(/^Expired:/);
    const last = await take(store, 'KeyGroup', { resourceVersion: versions.at(-5)!, count: 5 });
    expect(last.map((event) => event.object.spec.description)).toEqual(['6', '7', '8', '9', '10']);
    await store.close();
  });

  it('reports to a reader that it fell behind the history, instead of leaving a gap', async () => {
    const store = await open(5);
    const { resourceVersion } = await store.list('KeyGroup');
    const watch = store.watch('KeyGroup', { resourceVersion, signal: new AbortController().signal });
    const events = watch[Symbol.asyncIterator]();
    await store.create(group('a'));
    expect(await events.next()).toMatchObject({ value: { type: 'added' } });
    for (let i = 0; i < 10; i += 1) await store.create(group(`b-${i}`));
    expect((await refusal(Promise.resolve(events.next()), 'conflict')).message).toMatch(/^Expired:/);
    await store.close();
  });

  it('does not expire a watch of a kind that rests while others change', async () => {
    const store = await open(5);
    const { resourceVersion } = await store.list('Settings');
    const watching = take(store, 'Settings', { resourceVersion, count: 1 });
    for (let i = 0; i < 20; i += 1) {
      await store.create(group(`team-${i}`));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const created = await store.create({ kind: 'Settings', metadata: { name: 'wherry' }, spec: { values: {} } });
    expect(await watching).toEqual([{ type: 'added', object: created }]);
    await store.close();
  });

  it('makes a watch from a state that this file never had (of a lost copy, say) list again', async () => {
    const store = await open();
    const error = await refusal(take(store, 'KeyGroup', { resourceVersion: '1000', count: 1 }), 'conflict');
    expect(error.message).toMatch(/^Expired:/);
    await refusal(take(store, 'KeyGroup', { resourceVersion: 'x', count: 1 }), 'validation_failed');
    await store.close();
  });

  it('ends watches with unavailable when it is closed', async () => {
    const store = await open();
    const { resourceVersion } = await store.list('KeyGroup');
    const watching = take(store, 'KeyGroup', { resourceVersion, count: 1 });
    await store.close();
    await refusal(watching, 'unavailable');
    await refusal(store.get('KeyGroup', 'team'), 'unavailable');
    await store.close();
  });
});

describe('The store on SQLite: faults', () => {
  it('answers unavailable when the disk is full, writes nothing by halves, and recovers', async () => {
    const database = openDatabase(file, MIGRATIONS);
    const store = new SqliteStore(database, { namespace: 'wherry', clock: Date, history: 100 });
    const before = await store.create(group('team', 'small'));
    database.exec('PRAGMA max_page_count = 12');
    const big = async (index: number): Promise<unknown> =>
      store.create(group(`big-${index}`, 'x'.repeat(1000))).then(() => big(index + 1));
    const error = await refusal(big(0), 'unavailable');
    expect(error.message).toBe('The store is not available: the disk is full');
    const { items, resourceVersion } = await store.list('KeyGroup');
    expect(items).toContainEqual(before);
    expect(Math.max(...items.map((item) => Number(item.metadata.resourceVersion)))).toBe(Number(resourceVersion));

    database.exec('PRAGMA max_page_count = 100000');
    const after = await store.create(group('after'));
    expect(Number(after.metadata.resourceVersion)).toBe(Number(resourceVersion) + 1);
    await store.close();
  });

  it('answers unavailable while another program holds the database, and recovers', async () => {
    const database = openDatabase(file, MIGRATIONS);
    database.exec('PRAGMA busy_timeout = 0');
    const store = new SqliteStore(database, { namespace: 'wherry', clock: Date, history: 100 });
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    expect((await refusal(store.create(group('team')), 'unavailable')).message).toContain('in use');
    expect(await store.get('KeyGroup', 'team')).toBeUndefined();
    other.exec('ROLLBACK');
    other.close();
    expect(await store.create(group('team'))).toMatchObject({ metadata: { generation: 1 } });
    await store.close();
  });
});

describe('The store on SQLite: size', () => {
  it('does no work that grows with the square of the objects', async () => {
    const database = openDatabase(file, MIGRATIONS);
    // Not the disk is measured here.
    database.exec('PRAGMA synchronous = OFF');
    const store = new SqliteStore(database, { namespace: 'wherry', clock: Date, history: 10_000 });
    const key = (index: number): NewResource<'ApiKey'> => ({
      kind: 'ApiKey',
      metadata: { name: `key-${index}` },
      spec: { keyGroup: 'team', value: { encrypted: 'x'.repeat(120) }, enabled: true },
    });
    const fill = async (from: number, to: number) => {
      const start = process.cpuUsage();
      for (let i = from; i < to; i += 1) await store.create(key(i));
      return process.cpuUsage(start).user / (to - from);
    };
    await fill(0, 500);
    const few = await fill(500, 2500);
    await fill(2500, 18_000);
    const many = await fill(18_000, 20_000);
    expect(many).toBeLessThan(few * 5);
    expect((await store.list('ApiKey')).items).toHaveLength(20_000);
    await store.close();
  });
});

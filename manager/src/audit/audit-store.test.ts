import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { startRecordsThread } from '../records/records-thread.ts';
import type { AuditRecord } from './audit-record.ts';
import type { AuditStore } from './audit-store.ts';
import { openAuditStore } from './open-audit-store.ts';

const DAY_MS = 86_400_000;
const NOW = 2000 * DAY_MS;

const record = (fields: Partial<AuditRecord> = {}): AuditRecord => ({
  timestamp: NOW,
  actor: { type: 'key', id: 'k-1', name: 'ci' },
  action: 'function.create',
  object: { kind: 'Function', id: 'f-1', name: 'f' },
  result: 'ok',
  requestId: 'r',
  clientAddress: '192.0.2.1',
  ...fields,
});

describe('the audit store (M9)', () => {
  let directory: string;
  let clock: FakeClock;
  let logger: FakeLogger;
  let store: AuditStore;
  const file = (): string => path.join(directory, 'audit.db');
  const open = (): Promise<AuditStore> => openAuditStore({ file: file(), thread: startRecordsThread(), clock, logger });

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-audit-'));
    clock = new FakeClock(NOW);
    logger = new FakeLogger();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('gives records back as they were written, newest first, after it was opened again too', async () => {
    const odd = record({
      actor: { type: 'system', id: null, name: 'wherry' },
      object: { kind: 'AuditLog', id: null, name: null },
      requestId: null,
      clientAddress: null,
    });
    await store.append([record(), odd]);
    await store.close();
    store = await open();
    await store.append([record({ result: 'denied' })]);
    expect(await store.query({ limit: 10 })).toEqual([
      { id: 3, ...record({ result: 'denied' }) },
      { id: 2, ...odd },
      { id: 1, ...record() },
    ]);
  });

  it('keeps what comes at once in its order, and answers each when its own is written', async () => {
    const names = Array.from({ length: 200 }, (_, index) => String(index));
    await Promise.all(names.map((requestId) => store.append([record({ requestId })])));
    expect((await store.query({ limit: 1000 })).map(({ requestId }) => requestId).reverse()).toEqual(names);
  });

  it.each<[string, Omit<Parameters<AuditStore['query']>[0], 'limit'>, string[]]>([
    ['an actor by id', { actor: 'k-2' }, ['b']],
    ['an actor by name', { actor: 'ci' }, ['d', 'c', 'a']],
    ['an action', { action: 'key.delete' }, ['c']],
    ['an object', { objectId: 'f-2' }, ['b']],
    ['a time', { since: NOW + 1, until: NOW + 3 }, ['c', 'b']],
    ['what came before a record', { before: 3 }, ['b', 'a']],
    ['all of them', { actor: 'ci', action: 'function.create', objectId: 'f-1', since: NOW, until: NOW + 1 }, ['a']],
  ])('finds by %s', async (_name, query, expected) => {
    await store.append([
      record({ requestId: 'a' }),
      record({
        requestId: 'b',
        timestamp: NOW + 1,
        actor: { type: 'key', id: 'k-2', name: 'other' },
        object: { kind: 'Function', id: 'f-2', name: 'f' },
      }),
      record({ requestId: 'c', timestamp: NOW + 2, action: 'key.delete' }),
      record({ requestId: 'd', timestamp: NOW + 3 }),
    ]);
    expect((await store.query({ ...query, limit: 10 })).map(({ requestId }) => requestId)).toEqual(expected);
    expect(await store.query({ ...query, limit: 1 })).toHaveLength(1);
  });

  it('lets nobody change a record', async () => {
    await store.append([record()]);
    const other = new DatabaseSync(file());
    expect(() => other.exec("UPDATE audit SET actor_name = 'somebody else'")).toThrow('audit records are append-only');
    other.close();
  });

  it('removes what is too old, and only once it knows how long records are kept', async () => {
    const aged = (days: number): AuditRecord => record({ timestamp: NOW - days * DAY_MS, requestId: String(days) });
    const ages = async (): Promise<number[]> =>
      (await store.query({ limit: 20_000 })).map(({ requestId }) => Number(requestId));
    await store.append([...Array.from({ length: 12_000 }, () => aged(400)), aged(40), aged(20), aged(0)]);
    await clock.advance(2 * 3_600_000);
    expect(await ages()).toHaveLength(12_003);
    store.retain(365);
    await eventually(async () => expect(await ages()).toEqual([0, 20, 40]));
    store.retain(30);
    await eventually(async () => expect(await ages()).toEqual([0, 20]));
    // From then on by itself.
    await eventually(async () => expect(clock.pending).toBe(1));
    await clock.advance(15 * DAY_MS);
    await eventually(async () => expect(clock.pending).toBe(1));
    await clock.advance(3_600_000);
    await eventually(async () => expect(await ages()).toEqual([0]));
  });

  it('sets a damaged file aside and says so in the log and in the first record', async () => {
    await store.append([record()]);
    await store.close();
    await writeFile(file(), 'this is no database, and it is longer than a header of one is'.repeat(20));
    store = await open();
    const aside = `audit.db.damaged-${NOW}`;
    expect(await store.query({ limit: 10 })).toMatchObject([
      { action: 'audit.set-aside', object: { kind: 'AuditLog', id: null, name: aside }, result: 'failed' },
    ]);
    expect(logger.of('error')).toHaveLength(1);
    expect(await readdir(directory)).toContain(aside);
  });

  it('says in one sentence that it cannot be opened', async () => {
    await expect(
      openAuditStore({ file: path.join(directory, 'missing/audit.db'), thread: startRecordsThread(), clock, logger }),
    ).rejects.toThrow(/^The audit records .* cannot be opened/);
  });
});

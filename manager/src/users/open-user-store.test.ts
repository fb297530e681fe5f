import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { startRecordsThread } from '../records/records-thread.ts';
import { openUserStore } from './open-user-store.ts';
import type { SessionRecord, UserRecord } from './user-record.ts';
import type { UserStore } from './user-store.ts';

const user = (id: string, fields: Partial<UserRecord> = {}): UserRecord => ({
  id,
  email: `${id}@example.com`,
  emailVerified: false,
  name: null,
  image: null,
  role: 'editor',
  isFirst: false,
  passwordHash: null,
  identity: null,
  createdAt: 1,
  updatedAt: 2.5,
  ...fields,
});
const session = (hash: string, userId: string): SessionRecord => ({ hash, userId, createdAt: 1, lastUsedAt: 2 });

describe('the store of users and sessions', () => {
  let directory: string;
  let store: UserStore;
  const file = (): string => path.join(directory, 'users.db');
  const open = (): Promise<UserStore> =>
    openUserStore({ file: file(), thread: startRecordsThread(), logger: new FakeLogger() });
  const content = () => ({
    users: store.users(),
    sessions: store.sessions(),
    settings: store.users().map(({ id }) => store.settings(id)),
  });

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-users-'));
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('has after it was opened again what was written, and reads the same before', async () => {
    const full = user('full', {
      emailVerified: true,
      name: 'Füll',
      image: 'https://example.com/a.png',
      role: 'admin',
      isFirst: true,
      passwordHash: '$argon2id$',
      identity: { issuer: 'https://id.example', subject: 's' },
    });
    await store.write({ put: 'user', user: full }, { put: 'user', user: user('plain') });
    await store.write(
      { put: 'session', session: session('h1', 'full') },
      { put: 'session', session: session('h2', 'plain') },
      { put: 'setting', setting: { userId: 'plain', name: 'ui.theme', value: 'dark' } },
      { touch: 'session', hash: 'h1', lastUsedAt: 9 },
      { touch: 'session', hash: 'ended', lastUsedAt: 9 },
    );
    const before = content();
    expect(before.users).toEqual([full, user('plain')]);
    expect(before.sessions).toEqual([{ ...session('h1', 'full'), lastUsedAt: 9 }, session('h2', 'plain')]);
    expect(before.settings).toEqual([{}, { 'ui.theme': 'dark' }]);
    await store.close();
    store = await open();
    expect(content()).toEqual(before);
    expect(store.userByEmail('FULL@example.com')).toEqual(full);
    expect(store.userByIdentity({ issuer: 'https://id.example', subject: 's' })).toEqual(full);
    expect(store.userByIdentity({ issuer: 'https://id.example', subject: 'other' })).toBeUndefined();
  });

  it('removes sessions and settings with their user', async () => {
    await store.write(
      { put: 'user', user: user('a') },
      { put: 'user', user: user('b') },
      { put: 'session', session: session('h1', 'a') },
      { put: 'session', session: session('h2', 'b') },
      { put: 'setting', setting: { userId: 'a', name: 'ui.theme', value: 'dark' } },
    );
    await store.write({ remove: 'user', id: 'a' });
    const after = content();
    expect([after.users.map(({ id }) => id), after.sessions.map(({ hash }) => hash)]).toEqual([['b'], ['h2']]);
    await store.close();
    store = await open();
    expect(content()).toEqual(after);
  });

  it('makes all changes or none', async () => {
    await store.write({ put: 'user', user: user('a') });
    const before = content();
    const clash = [
      { put: 'user', user: user('b') },
      { put: 'session', session: session('h', 'nobody') },
    ] as const;
    await expect(store.write(...clash)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store.write({ put: 'user', user: user('c', { email: 'A@Example.com' }) })).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(content()).toEqual(before);
    await store.close();
    store = await open();
    expect(content()).toEqual(before);
  });

  it('is readable for its owner alone', async () => {
    await store.write({ put: 'user', user: user('a') });
    for (const name of ['users.db', 'users.db-wal', 'users.db-shm'])
      expect([name, (await stat(path.join(directory, name))).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('refuses to start with a damaged file, and leaves it as it is: an empty one would be anybody’s', async () => {
    await store.close();
    await writeFile(file(), 'no database, but long enough for a header of one '.repeat(10));
    const before = await readFile(file());
    await expect(open()).rejects.toMatchObject({
      name: 'StartError',
      message: expect.stringContaining(`The user database ${file()} cannot be opened (`),
    });
    expect(await readFile(file())).toEqual(before);
    await rm(file());
    store = await open();
  });

  it('refuses a file of a newer version', async () => {
    await store.close();
    const database = new DatabaseSync(file());
    database.exec('PRAGMA user_version = 99');
    database.close();
    await expect(open()).rejects.toThrow('it was written by a newer Wherry (schema 99)');
    await rm(file());
    store = await open();
  });
});

import { argon2Sync } from 'node:crypto';
import { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { Principal, UserPrincipal } from '../http/principal.ts';
import { PasswordHasher } from '../passwords/password-hasher.ts';
import { Sessions } from '../sessions/sessions.ts';
import { inProcessUserStore } from '../testing/in-process-user-store.ts';
import { CHEAP } from '../testing/test-manager.ts';
import type { UserRecord } from './user-record.ts';
import { UserService } from './user-service.ts';
import type { UserStore } from './user-store.ts';

const WITH_PASSWORD = { password: 'long enough', passwordConfirmation: 'long enough' };
const byKey = (): Principal => ({ type: 'key', id: 'k', name: 'k', groupId: 'management', groupName: 'management' });

describe('a user whose password is being hashed', () => {
  let store: UserStore;
  let users: UserService;
  let first: UserRecord;
  let principal: UserPrincipal;
  let hasher: PasswordHasher;
  /** Passwords that are being hashed, each until the test lets it. */
  let held: { password: string; go: () => void }[];
  const caller = (): UserPrincipal | undefined => {
    const user = store.user(principal.id);
    if (user === undefined || store.session(principal.session) === undefined) return undefined;
    return { ...principal, role: user.role };
  };
  const change = (password: string): Promise<UserRecord> => users.update(principal.id, { password }, caller);

  beforeEach(async () => {
    held = [];
    hasher = new PasswordHasher(CHEAP, async (parameters) => {
      const password = Buffer.from(parameters.message as Uint8Array).toString();
      await new Promise<void>((go) => held.push({ password, go }));
      return argon2Sync('argon2id', parameters);
    });
    store = inProcessUserStore();
    const parts = { store, clock: new FakeClock(), lock: new KeyedLock() };
    const sessions = new Sessions({ ...parts, logger: new FakeLogger() });
    users = new UserService({ ...parts, sessions, hasher });
    first = await users.insert({ email: 'admin@example.com' });
    const { id, email, role } = await users.insert({ email: 'viewer@example.com', role: 'viewer' });
    principal = { type: 'user', id, email, role, session: 'its session' };
    const session = { hash: principal.session, userId: id, createdAt: 0, lastUsedAt: 0 };
    await store.write({ put: 'session', session });
  });
  afterEach(() => store.close());

  it('M2: has one of their own hashed at a time, and so keeps nobody from signing in', async () => {
    const changes = Promise.all(Array.from({ length: 20 }, (_, at) => change(`password ${at}`)));
    await eventually(() => expect(held).not.toEqual([]));
    const signIn = hasher.verify('of another user', null);
    await eventually(() => expect(held).toHaveLength(2));
    expect(held.map(({ password }) => password)).toEqual(['password 0', 'of another user']);
    held[1]?.go();
    expect(await signIn).toBe(false);
    expect(held).toHaveLength(2);
    held[0]?.go();
    for (let at = 1; at < 20; at += 1) {
      await eventually(() => expect(held).toHaveLength(at + 2));
      held[at + 1]?.go();
    }
    await changes;
  });

  it('M3: changes nothing where the session ends before the password is hashed', async () => {
    const late = change('of whoever stole the session');
    await eventually(() => expect(held).toHaveLength(1));
    await store.write({ remove: 'session', hash: principal.session });
    held[0]?.go();
    await expect(late).rejects.toMatchObject({ code: 'unauthorized' });
    expect(store.user(principal.id)?.passwordHash).toBeNull();
  });

  describe.each([
    ['demoted', 'forbidden', () => users.update(principal.id, { role: 'viewer' }, byKey)],
    ['deleted', 'unauthorized', () => users.remove(principal.id, byKey)],
    ['signed out', 'unauthorized', () => store.write({ remove: 'session', hash: principal.session })],
  ] as const)('M5: by an administrator who is %s meanwhile', (_what, code, lose) => {
    it.each([
      ['created', () => users.create({ ...WITH_PASSWORD, email: 'new@example.com', role: 'admin' }, caller)],
      ['changed', () => users.update(first.id, { ...WITH_PASSWORD, role: 'viewer' }, caller)],
    ])('is not %s', async (_act, act) => {
      await users.update(principal.id, { role: 'admin' }, byKey);
      const late = act();
      await eventually(() => expect(held).toHaveLength(1));
      await lose();
      held[0]?.go();
      await expect(late).rejects.toMatchObject({ code });
      expect(store.userByEmail('new@example.com')).toBeUndefined();
      expect(store.user(first.id)).toEqual(first);
    });
  });
});

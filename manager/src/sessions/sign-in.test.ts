import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { isDomainError } from '@wherry/core/errors.ts';
import { argon2Sync } from 'node:crypto';
import { PasswordHasher } from '../passwords/password-hasher.ts';
import { CHEAP } from '../testing/test-manager.ts';
import { inProcessUserStore } from '../testing/in-process-user-store.ts';
import type { UserRecord } from '../users/user-record.ts';
import type { UserStore } from '../users/user-store.ts';
import { SignInService } from './sign-in-service.ts';

const EMAIL = 'ada@example.com';
const RIGHT = 'the right password';
const FIFTEEN_MINUTES = 15 * 60_000;

describe('sign-in under attack (M2)', () => {
  let clock: FakeClock;
  let store: UserStore;
  let service: SignInService;
  let hashed = 0;
  const hasher = new PasswordHasher(CHEAP, async (parameters) => {
    hashed += 1;
    return argon2Sync('argon2id', parameters);
  });

  const outcome = async (address: string, password: string, email = EMAIL): Promise<string> =>
    service.verify({ email, password }, address).then(
      ({ id }) => id,
      (error: unknown) => (isDomainError(error) ? error.code : String(error)),
    );

  beforeEach(async () => {
    clock = new FakeClock();
    store = inProcessUserStore();
    service = new SignInService({ store, hasher, clock });
    const user: UserRecord = {
      id: 'ada',
      email: EMAIL,
      emailVerified: false,
      name: null,
      image: null,
      role: 'admin',
      isFirst: true,
      passwordHash: await hasher.hash(RIGHT),
      identity: null,
      createdAt: 0,
      updatedAt: 0,
    };
    await store.write({ put: 'user', user });
    hashed = 0;
  });
  afterEach(() => store.close());

  it('tries 5 of 10,000 passwords from one address, the right one not, and lets the user in from another', async () => {
    const counts: Record<string, number> = {};
    for (let at = 0; at < 10_000; at += 1) {
      const code = await outcome('192.0.2.1', `guess ${at}`);
      counts[code] = (counts[code] ?? 0) + 1;
    }
    expect(counts).toEqual({ unauthorized: 5, throttled: 9995 });
    expect(hashed).toBe(5);
    expect(await outcome('192.0.2.1', RIGHT)).toBe('throttled');
    expect(await outcome('192.0.2.2', RIGHT)).toBe('ada');
  });

  it('tries 5 where 10,000 are sent at once', async () => {
    const codes = await Promise.all(Array.from({ length: 10_000 }, (_, at) => outcome('192.0.2.1', `guess ${at}`)));
    // Four of them at a time; the fifth attempt is left.
    expect(hashed).toBe(4);
    expect(codes.filter((code) => code === 'throttled')).toHaveLength(9996);
    expect(await outcome('192.0.2.1', 'guess')).toBe('unauthorized');
    expect(await outcome('192.0.2.1', RIGHT)).toBe('throttled');
    expect(hashed).toBe(5);
  });

  it('remembers whom it stopped, however many other emails are tried while sign-ins of the address are pending', async () => {
    for (let at = 0; at < 5; at += 1) expect(await outcome('192.0.2.1', 'guess')).toBe('unauthorized');
    const codes = await Promise.all(
      Array.from({ length: 60_000 }, (_, at) => outcome('192.0.2.1', 'guess', `nobody${at}@example.com`)),
    );
    expect(codes.filter((code) => code === 'throttled')).toHaveLength(59_996);
    expect(await outcome('192.0.2.1', RIGHT)).toBe('throttled');
  });

  it('does not lock the user out where 2,000 addresses guess five times each', async () => {
    for (let address = 0; address < 2000; address += 1)
      for (let at = 0; at < 5; at += 1)
        expect(await outcome(`10.1.${address >> 8}.${address & 255}`, `guess ${at}`)).toBe('unauthorized');
    expect(hashed).toBe(10_000);
    expect(await outcome('192.0.2.2', RIGHT)).toBe('ada');
  });

  it('counts the addresses of one IPv6 network together, and accounts apart, whatever the case of the email', async () => {
    for (let at = 0; at < 5; at += 1)
      expect(await outcome(`2001:db8::${at + 1}`, 'guess', at % 2 === 0 ? EMAIL : 'ADA@example.com')).toBe(
        'unauthorized',
      );
    expect(await outcome('2001:db8::9', RIGHT)).toBe('throttled');
    expect(await outcome('2001:db8::9', RIGHT, 'other@example.com')).toBe('unauthorized');
    expect(await outcome('2001:db8:0:1::9', RIGHT)).toBe('ada');
  });

  it('lets the user in again after 15 minutes, and says when; success starts the count again', async () => {
    for (let at = 0; at < 4; at += 1) await outcome('192.0.2.1', 'guess');
    expect(await outcome('192.0.2.1', RIGHT)).toBe('ada');
    for (let at = 0; at < 5; at += 1) expect(await outcome('192.0.2.1', 'guess')).toBe('unauthorized');
    await clock.advance(FIFTEEN_MINUTES - 1000);
    await expect(service.verify({ email: EMAIL, password: RIGHT }, '192.0.2.1')).rejects.toMatchObject({
      code: 'throttled',
      retryAfter: 1,
    });
    await clock.advance(1000);
    expect(await outcome('192.0.2.1', RIGHT)).toBe('ada');
  });

  it('answers an unknown email, a user without a password and a wrong password alike, with the same work', async () => {
    const noPassword = {
      ...store.user('ada')!,
      id: 'oidc',
      email: 'oidc@example.com',
      passwordHash: null,
      isFirst: false,
    };
    await store.write({ put: 'user', user: noPassword });
    const messages = new Set<string>();
    for (const email of [EMAIL, 'oidc@example.com', 'nobody@example.com']) {
      hashed = 0;
      for (let at = 0; at < 6; at += 1)
        await service.verify({ email, password: 'guess' }, '192.0.2.1').catch((error: unknown) => {
          messages.add(`${at === 5 ? 'sixth' : 'first'}: ${(error as Error).message}`);
        });
      expect([email, hashed]).toEqual([email, 5]);
    }
    expect(messages.size).toBe(2);
  });

  it('does not accept a password that is changed while it is verified', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = new SignInService({
      store,
      clock,
      hasher: new PasswordHasher(CHEAP, async (parameters) => {
        await gate.promise;
        return argon2Sync('argon2id', parameters);
      }),
    });
    const signingIn = slow.verify({ email: EMAIL, password: RIGHT }, '192.0.2.1');
    await store.write({
      put: 'user',
      user: { ...store.user('ada')!, passwordHash: await hasher.hash('a new password') },
    });
    gate.resolve();
    await expect(signingIn).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

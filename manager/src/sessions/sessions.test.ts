import { Buffer } from 'node:buffer';
import supertest from 'supertest';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { Browser, createUser, PASSWORD } from '../testing/browser.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

const EMAIL = 'ada@example.com';
const MINUTE = 60_000;
const signInBody = { email: EMAIL, password: PASSWORD };

describe('sessions', () => {
  let manager: TestManager;
  const browser = (): Promise<Browser> => new Browser(manager).signIn(EMAIL);
  const status = async (one: Browser): Promise<number> => (await one.send('get', '/api/auth/session')).status;

  beforeEach(async () => {
    manager = await startTestManager();
    await createUser(manager, EMAIL);
  });
  afterEach(() => manager.stop());

  it('begin with the user, who may then use the API, and end with sign-out', async () => {
    const user = new Browser(manager);
    expect(await status(user)).toBe(401);
    const signedIn = await user.send('post', '/api/auth/sign-in/email', { body: signInBody });
    expect(signedIn.body).toMatchObject({ user: { email: EMAIL, role: 'admin' } });
    expect((await user.send('get', '/api/auth/session')).body).toEqual(signedIn.body);
    expect((await user.send('get', '/api/functions')).status).toBe(200);
    expect((await user.send('post', '/api/auth/sign-out')).body).toEqual({ success: true });
    expect([await status(user), user.session]).toEqual([401, '']);
  });

  it('M3: refuse a cookie that was stolen before its user signed out', async () => {
    const user = await browser();
    const thief = new Browser(manager);
    thief.cookie = user.cookie;
    expect(await status(thief)).toBe(200);
    await user.send('post', '/api/auth/sign-out');
    thief.cookie = `wherry_session=${thief.session}`;
    expect(await status(thief)).toBe(401);
    expect((await thief.send('post', '/api/key-groups', { body: { name: 'x' } })).status).toBe(401);
  });

  it('M3: have an id of 256 bits that is nowhere in the store, whose hash is', async () => {
    const user = await browser();
    expect(Buffer.from(user.session, 'base64url')).toHaveLength(32);
    const stored = manager.users.sessions();
    expect(stored).toHaveLength(1);
    expect(JSON.stringify(stored)).not.toContain(user.session);
    const thief = new Browser(manager);
    thief.cookie = `wherry_session=${stored[0]?.hash ?? ''}`;
    expect(await status(thief)).toBe(401);
  });

  it('M3: take no id that the browser brings, and end the session that it had', async () => {
    const attacker = await browser();
    const before = attacker.session;
    const victim = new Browser(manager);
    victim.cookie = attacker.cookie;
    await victim.signIn(EMAIL);
    expect(victim.session).not.toBe(before);
    expect([await status(attacker), await status(victim)]).toEqual([401, 200]);
    const chosen = 'A'.repeat(43);
    victim.cookie = `wherry_session=${chosen}`;
    await victim.signIn(EMAIL);
    expect(victim.session).not.toBe(chosen);
  });

  it.each([
    [
      'on this machine',
      { Host: 'localhost:9000' },
      /^wherry_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/,
    ],
    [
      'on this machine, by address',
      { Host: '127.0.0.1:9000' },
      /^wherry_session=[^;]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/,
    ],
    ...[
      ['under a name', { Host: 'wherry.example.com' }],
      ['under a name that begins like this machine', { Host: 'localhost.example.com' }],
      ['through a proxy', { Host: 'localhost:9000', 'X-Forwarded-For': '192.0.2.1' }],
      ['through a proxy that names itself', { Host: 'localhost:9000', Via: '1.1 proxy' }],
      ['through one that says nothing', { Host: 'localhost:9000', Origin: 'https://wherry.example.com' }],
    ].map(([name, headers]) => [
      name,
      headers,
      /^__Host-wherry_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    ]),
  ] as [string, Record<string, string>, RegExp][])(
    'M3: have a cookie of the right kind %s',
    async (_name, headers, expected) => {
      const answer = await new Browser(manager).send('post', '/api/auth/sign-in/email', { body: signInBody, headers });
      expect(answer.headers['set-cookie']).toEqual([expect.stringMatching(expected)]);
    },
  );

  it('M3: take the cookie without prefix only where it is set, or where that is allowed', async () => {
    const user = await browser();
    const headers = { Host: 'wherry.example.com' };
    expect((await user.send('get', '/api/auth/session', { headers })).status).toBe(401);
    const open = await startTestManager({ users: manager.users, allowPlainCookies: true });
    const there = new Browser(open);
    there.cookie = user.cookie;
    expect((await there.send('get', '/api/auth/session', { headers })).status).toBe(200);
    await open.stop();
  });

  it('end after 30 minutes without a request, and not before', async () => {
    const user = await browser();
    for (let at = 0; at < 4; at += 1) {
      manager.clock.jump(30 * MINUTE - 1);
      expect(await status(user)).toBe(200);
    }
    manager.clock.jump(30 * MINUTE);
    expect(await status(user)).toBe(401);
  });

  it('end 12 hours after sign-in, however they are used', async () => {
    const user = await browser();
    for (let at = 0; at < 47; at += 1) {
      manager.clock.jump(15 * MINUTE);
      expect(await status(user)).toBe(200);
    }
    manager.clock.jump(15 * MINUTE);
    expect(await status(user)).toBe(401);
    await browser();
    expect(manager.users.sessions()).toHaveLength(1);
  });

  it('survive a restart of the manager, and a rotation of the encryption key, with the time of their last use', async () => {
    const user = await browser();
    manager.clock.jump(29 * MINUTE);
    expect(await status(user)).toBe(200);
    const other = await startTestManager({ users: manager.users, clock: manager.clock, keyRing: testKeyRing(1, 2) });
    const there = new Browser(other);
    there.cookie = user.cookie;
    manager.clock.jump(29 * MINUTE);
    expect(await status(there)).toBe(200);
    manager.clock.jump(30 * MINUTE);
    expect(await status(there)).toBe(401);
    await other.stop();
  });

  it('are at most 50 for one user: the one that was not used for the longest time ends', async () => {
    const first = await browser();
    const second = await browser();
    for (let at = 0; at < 48; at += 1) await browser();
    manager.clock.jump(MINUTE);
    expect(await status(first)).toBe(200);
    await browser();
    expect([await status(first), manager.users.sessions().length]).toEqual([200, 50]);
    manager.clock.jump(MINUTE);
    await status(first);
    for (let at = 0; at < 48; at += 1) await browser();
    expect([await status(first), await status(second)]).toEqual([200, 401]);
  });

  it('give way to a key, good or bad', async () => {
    const user = await browser();
    const withKey = (key: string) => user.send('get', '/api/functions', { headers: { 'X-API-Key': key } });
    expect((await withKey('unknown-key-value-0')).status).toBe(401);
    expect((await withKey('')).status).toBe(401);
    expect((await withKey(KEY)).status).toBe(200);
    const session = await user.send('get', '/api/auth/session', { headers: { 'X-API-Key': KEY } });
    expect(session.status).toBe(401);
    expect(session.body).toMatchObject({ error: expect.stringContaining('send the cookie without a key') as unknown });
  });

  it.each([
    ['a page of this origin', { 'Sec-Fetch-Site': 'same-origin' }, 201],
    ['the address bar', { 'Sec-Fetch-Site': 'none' }, 201],
    ['a page of this origin, in an old browser', { Origin: 'http://localhost:9000' }, 201],
    ['another site', { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://localhost:9000' }, 403],
    ['another port or subdomain', { 'Sec-Fetch-Site': 'same-site' }, 403],
    ['another origin, in an old browser', { Origin: 'https://evil.example' }, 403],
    ['another port, in an old browser', { Origin: 'http://localhost:8000' }, 403],
    ['a sandboxed page', { Origin: 'null' }, 403],
    ['nobody knows where', {}, 403],
  ])('M4a: may change something from %s: %j is a %i', async (_name, from, expected) => {
    const { cookie } = await browser();
    const answer = await supertest(manager.server)
      .post('/api/key-groups')
      .set({ Host: 'localhost:9000', Cookie: cookie, ...from })
      .send({ name: 'team' });
    expect(answer.status).toBe(expected);
    const groups = await supertest(manager.server).get('/api/key-groups').set('X-API-Key', KEY);
    expect((groups.body as { groups: object[] }).groups).toHaveLength(expected === 201 ? 2 : 1);
  });

  it('M4a: are not begun by a page of another origin', async () => {
    for (const headers of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { Origin: 'https://evil.example', 'Sec-Fetch-Site': '' },
    ]) {
      const user = new Browser(manager);
      const answer = await user.send('post', '/api/auth/sign-in/email', { body: signInBody, headers });
      expect([answer.status, user.cookie]).toEqual([403, '']);
    }
    // A program that is no browser.
    await supertest(manager.server).post('/api/auth/sign-in/email').send(signInBody).expect(200);
  });

  it('M2: are refused with 429 and Retry-After after five wrong passwords, for this account and address alone', async () => {
    const behind = await startTestManager({ users: manager.users, trustedProxies: ['127.0.0.0/8', '::1'] });
    const attempt = (password: string, from: string, email = EMAIL) =>
      new Browser(behind).send('post', '/api/auth/sign-in/email', {
        body: { email, password },
        headers: { 'X-Forwarded-For': from },
      });
    for (let at = 0; at < 5; at += 1) expect((await attempt(`guess ${at}`, '192.0.2.1')).status).toBe(401);
    const throttled = await attempt(PASSWORD, '192.0.2.1');
    expect([throttled.status, throttled.headers['retry-after']]).toEqual([429, '900']);
    expect((await attempt(PASSWORD, '192.0.2.2')).status).toBe(200);
    expect((await attempt('guess', '192.0.2.1', 'other@example.com')).status).toBe(401);
    await behind.stop();
  });
});

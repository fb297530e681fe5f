import { generateKeyPairSync } from 'node:crypto';
import type supertest from 'supertest';
import { Browser, createUser } from '../testing/browser.ts';
import { startTestManager, type TestManager } from '../testing/test-manager.ts';
import { TestProvider } from '../testing/test-provider.ts';
import type { OidcConfig } from './oidc-config.ts';

const START = '/api/auth/oidc/start';
const EMAIL = 'ada@example.com';
const ADA = { email: EMAIL, email_verified: true, name: 'Ada', groups: ['editor'] };

let provider: TestProvider;
let manager: TestManager;
let browser: Browser;

beforeAll(async () => {
  provider = await TestProvider.start();
});
afterAll(() => provider.stop());

/** A manager with a local administrator, unless `isEmpty`. */
async function begin(config: Partial<OidcConfig> = {}, isEmpty = false): Promise<void> {
  manager = await startTestManager({ oidc: provider.config(config) });
  if (!isEmpty) await createUser(manager, 'root@example.com');
  browser = new Browser(manager);
}
beforeEach(() => {
  provider.as('ada', ADA);
  provider.forge = undefined;
});
afterEach(() => manager.stop());

const start = async (to?: string, from = browser): Promise<supertest.Response> =>
  from.send('get', to === undefined ? START : `${START}?to=${encodeURIComponent(to)}`, {
    headers: { 'Sec-Fetch-Site': 'same-origin' },
  });

/** As a browser does that the provider sends back. */
const callback = (url: URL, from = browser): Promise<supertest.Response> =>
  from.send('get', `${url.pathname}${url.search}`, { headers: { 'Sec-Fetch-Site': 'cross-site' } });

/** The provider's answer to a sign-in that has begun. */
const atProvider = async (begun: supertest.Response): Promise<URL> =>
  provider.follow(String(begun.headers['location']));

async function signIn(from = browser, to?: string): Promise<supertest.Response> {
  return callback(await atProvider(await start(to, from)), from);
}

const current = async (from = browser): Promise<Record<string, unknown> | undefined> =>
  ((await from.send('get', '/api/auth/session')).body as { user?: Record<string, unknown> }).user;
const signInRecords = async () =>
  (await manager.audited())
    .filter(
      ({ action, actor }) => action === 'session.sign-in' || (actor.type === 'user' && action.startsWith('user.')),
    )
    .map(({ action, actor, object, result }) => [action, actor.name, object.name, result]);

describe('sign-in with OpenID Connect', () => {
  it('creates a user with the role of the claim, begins a session and leads to the target (M3, M9)', async () => {
    await begin();
    const begun = await start('/web/functions?tab=1#top');
    const { searchParams } = new URL(String(begun.headers['location']));
    expect([begun.status, Object.fromEntries(searchParams)]).toEqual([
      302,
      expect.objectContaining({
        response_type: 'code',
        client_id: 'wherry',
        redirect_uri: 'http://localhost:9000/api/auth/oidc/callback',
        scope: 'openid email profile',
        code_challenge_method: 'S256',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        state: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
      }),
    ]);
    expect(begun.headers['set-cookie']).toEqual([
      expect.stringMatching(/^wherry_oidc=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const ended = await callback(await atProvider(begun));
    expect([ended.status, ended.headers['location'], ended.headers['set-cookie']]).toEqual([
      302,
      '/web/functions?tab=1#top',
      [expect.stringMatching(/^wherry_session=[\w-]{43}; /), expect.stringMatching(/^wherry_oidc=; Max-Age=0; /)],
    ]);
    expect(await current()).toMatchObject({ email: EMAIL, emailVerified: true, name: 'Ada', role: 'editor' });
    expect(manager.users.userByEmail(EMAIL)?.identity).toEqual({ issuer: provider.issuer, subject: 'ada' });
    expect(await signInRecords()).toEqual([
      ['user.create', EMAIL, EMAIL, 'ok'],
      ['session.sign-in', EMAIL, EMAIL, 'ok'],
    ]);
    expect((await browser.send('post', '/api/auth/sign-out')).status).toBe(200);
    expect(await current()).toBeUndefined();
  });

  it('begins with a Secure cookie behind a proxy, which no subdomain can set (M3)', async () => {
    await begin();
    const begun = await browser.send('get', START, { headers: { Host: 'wherry.example.com' } });
    expect(new URL(String(begun.headers['location'])).searchParams.get('redirect_uri')).toBe(
      'https://wherry.example.com/api/auth/oidc/callback',
    );
    expect(begun.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-wherry_oidc=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ]);
    expect((await browser.send('get', START, { headers: { Host: 'a@evil.example' } })).status).toBe(400);
    const long = await browser.send('get', START, { headers: { Host: 'a'.repeat(262) } });
    expect([long.status, (long.body as { error: string }).error]).toEqual([
      400,
      'The Host header of the request is longer than 261 characters.',
    ]);
  });

  it('takes no session that the browser brings, and ends the one that it had (M3)', async () => {
    await begin();
    await browser.signIn('root@example.com');
    const attacker = new Browser(manager);
    attacker.cookie = browser.cookie;
    await signIn();
    expect([await current(attacker), (await current())?.['email']]).toEqual([undefined, EMAIL]);
    expect(browser.session).not.toBe(attacker.session);
  });

  it('gives a user who signs in again the same account, with the role that the claim has now', async () => {
    await begin();
    await signIn();
    const first = await current();
    const other = new Browser(manager);
    provider.as('ada', { ...ADA, groups: ['admin', 'viewer', 'unknown'], email: 'new@example.com' });
    await signIn(other);
    expect(await current(other)).toMatchObject({ id: first?.['id'], email: EMAIL, role: 'admin' });
    expect((await current())?.['role']).toBe('admin');
    expect((await signInRecords()).slice(2)).toEqual([
      ['user.update', EMAIL, EMAIL, 'ok'],
      ['session.sign-in', EMAIL, EMAIL, 'ok'],
    ]);
    provider.as('ada', { ...ADA, groups: [] });
    const refused = await signIn(new Browser(manager));
    expect([refused.status, refused.body]).toEqual([403, expect.objectContaining({ code: 'forbidden' })]);
    expect((await signInRecords()).at(-1)).toEqual(['session.sign-in', '(no credentials)', EMAIL, 'denied']);
  });

  it('records the user that it created also where no session can begin (M9)', async () => {
    await begin();
    const url = await atProvider(await start());
    const write = manager.users.write.bind(manager.users);
    jest
      .spyOn(manager.users, 'write')
      .mockImplementationOnce(write)
      .mockRejectedValueOnce(new Error('the disk is full'));
    expect((await callback(url)).status).toBe(500);
    expect(await signInRecords()).toEqual([
      ['user.create', EMAIL, EMAIL, 'ok'],
      ['session.sign-in', '(no credentials)', EMAIL, 'failed'],
    ]);
  });

  it('ends the sessions of a deleted user, who is a new user at the next sign-in', async () => {
    await begin();
    await signIn();
    const before = await current();
    const root = await new Browser(manager).signIn('root@example.com');
    expect((await root.send('delete', `/api/users/${String(before?.['id'])}`)).status).toBe(200);
    expect(await current()).toBeUndefined();
    await signIn();
    expect((await current())?.['id']).not.toBe(before?.['id']);
  });

  it('takes over no user by an email that is not verified, and the user of a verified one once', async () => {
    await begin();
    const id = await createUser(manager, EMAIL, 'viewer');
    provider.as('mallory', { ...ADA, email_verified: false });
    expect((await signIn()).status).toBe(409);
    expect([await current(), manager.users.user(id)?.identity]).toEqual([undefined, null]);
    provider.as('ada', ADA);
    await signIn();
    expect(await current()).toMatchObject({ id, role: 'editor', emailVerified: true });
    provider.as('mallory', ADA);
    expect((await signIn(new Browser(manager))).status).toBe(409);
    expect(manager.users.user(id)?.identity?.subject).toBe('ada');
  });

  it('admits verified emails of the allowed domains alone, with the default role, which then is changed here', async () => {
    await begin({ roleClaim: undefined, defaultRole: 'viewer', allowedDomains: ['example.com'] });
    for (const [claims, expected] of [
      [{ ...ADA, email: 'ada@example.com.evil.example' }, 403],
      [{ ...ADA, email: 'ada@sub.example.com' }, 403],
      [{ ...ADA, email_verified: false }, 403],
      [{ ...ADA, email_verified: 'true' }, 403],
      [{ email_verified: true }, 403],
      [{ ...ADA, email: 'ADA@Example.com' }, 302],
    ] as const) {
      provider.as('ada', claims);
      expect([claims, (await signIn()).status]).toEqual([claims, expected]);
    }
    const { id, role } = (await current()) ?? {};
    expect(role).toBe('viewer');
    const root = await new Browser(manager).signIn('root@example.com');
    await root.send('put', `/api/users/${String(id)}`, { body: { role: 'admin' } });
    await signIn();
    expect((await current())?.['role']).toBe('admin');
  });

  it('makes only an administrator the first user, whom the provider then cannot take the role from', async () => {
    await begin({}, true);
    const refused = await signIn();
    expect([refused.status, manager.users.users()]).toEqual([403, []]);
    provider.as('ada', { ...ADA, groups: ['admin'] });
    expect((await signIn()).status).toBe(302);
    provider.as('ada', ADA);
    expect((await signIn(new Browser(manager))).status).toBe(409);
    expect(await current()).toMatchObject({ email: EMAIL, role: 'admin' });
  });

  it('signs nobody in with a state of another sign-in, a callback of another browser or a second time', async () => {
    await begin();
    const victim = new Browser(manager);
    const victims = await start(undefined, victim);
    // A page that makes the victim's browser end the attacker's sign-in.
    const attackers = await atProvider(await start());
    expect([(await callback(attackers, victim)).status, await current(victim)]).toEqual([401, undefined]);
    // That leaves the victim's own sign-in as it is.
    expect((await callback(await atProvider(victims), victim)).status).toBe(302);
    expect((await callback(attackers, new Browser(manager))).status).toBe(401);
    expect((await callback(attackers)).status).toBe(302);
    const replayed = new Browser(manager);
    replayed.cookie = browser.cookie;
    const requests = provider.tokenRequests;
    expect((await callback(attackers, replayed)).status).toBe(401);
    const again = await start();
    const cookie = browser.cookie;
    const url = await atProvider(again);
    await callback(url);
    browser.cookie = cookie;
    expect([(await callback(url)).status, provider.tokenRequests]).toEqual([401, requests + 1]);
  });

  it('signs nobody in more than ten minutes after the beginning', async () => {
    await begin();
    const url = await atProvider(await start());
    await manager.clock.advance(600_000);
    expect((await callback(url)).status).toBe(401);
  });

  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  it.each<[string, NonNullable<TestProvider['forge']>]>([
    ['of another nonce', (claims) => ({ claims: { ...claims, nonce: 'another' } })],
    ['without a nonce', ({ nonce: _dropped, ...claims }) => ({ claims })],
    ['of another audience', (claims) => ({ claims: { ...claims, aud: 'another' } })],
    ['of several audiences', (claims) => ({ claims: { ...claims, aud: ['wherry', 'another'], azp: 'another' } })],
    ['of another issuer', (claims) => ({ claims: { ...claims, iss: 'https://evil.example' } })],
    ['that has expired', (claims) => ({ claims: { ...claims, iat: 1_000_000_000, exp: 1_000_000_600 } })],
    ['of another user', (claims) => ({ claims: { ...claims, sub: 'root' } })],
    ['that another key signed', (claims) => ({ claims, key: other })],
  ])('refuses an ID token %s', async (_name, forge) => {
    await begin();
    provider.forge = forge;
    const refused = await signIn();
    expect([refused.status, refused.body]).toEqual([401, expect.objectContaining({ code: 'unauthorized' })]);
    expect([await current(), manager.users.users().length]).toEqual([undefined, 1]);
    expect(await signInRecords()).toEqual([['session.sign-in', '(no credentials)', null, 'denied']]);
    provider.forge = undefined;
    expect((await signIn()).status).toBe(302);
  });

  it('says that the provider refused, and repeats nothing of what the URL says', async () => {
    await begin();
    provider.subject = undefined;
    const refused = await signIn();
    expect([refused.status, (refused.body as { error: string }).error]).toEqual([
      401,
      'The OpenID Connect provider refused the sign-in (access_denied).',
    ]);
    const state = new URL(String((await start()).headers['location'])).searchParams.get('state') ?? '';
    const url = new URL('http://localhost:9000/api/auth/oidc/callback');
    const markup = '</script><img src=x onerror=alert(1)>';
    url.search = new URLSearchParams({
      error: markup,
      error_description: markup,
      state,
      iss: provider.issuer,
    }).toString();
    const forged = await callback(url);
    expect([forged.status, forged.headers['content-type'], forged.text.includes('img')]).toEqual([
      401,
      'application/json; charset=utf-8',
      false,
    ]);
  });

  it('throttles answers that do not fit, of one address, before they cost the provider anything', async () => {
    await begin();
    for (let at = 0; at < 20; at += 1) {
      const state = new URL(String((await start()).headers['location'])).searchParams.get('state') ?? '';
      const url = new URL(`http://localhost:9000/api/auth/oidc/callback?code=guess&state=${state}`);
      url.searchParams.set('iss', provider.issuer);
      expect((await callback(url)).status).toBe(401);
    }
    const requests = provider.tokenRequests;
    await manager.clock.advance(890_000);
    const url = await atProvider(await start());
    const throttled = await callback(url);
    expect([throttled.status, throttled.headers['retry-after'], provider.tokenRequests]).toEqual([429, '10', requests]);
    // It is still pending.
    await manager.clock.advance(10_000);
    expect((await callback(url)).status).toBe(302);
  });

  it('is a 503 where the client secret is wrong, which names the setting', async () => {
    await begin({ clientSecret: 'another' });
    const answer = await signIn();
    expect([answer.status, (answer.body as { error: string }).error]).toEqual([
      503,
      expect.stringContaining('WHERRY_OIDC_CLIENT_SECRET'),
    ]);
  });
});

describe('where sign-in leads (M7)', () => {
  it('is a path of this origin, else the home page', async () => {
    await begin();
    for (const [to, expected] of [
      ['/web/functions', '/web/functions'],
      ['//evil.example', '/web/'],
      ['/\\evil.example', '/web/'],
      ['https:evil.example', '/web/'],
      ['/\t/evil.example', '/web/'],
    ] as const)
      expect([to, (await signIn(new Browser(manager), to)).headers['location']]).toEqual([to, expected]);
  });
});

describe('a provider that is away', () => {
  it('hinders neither the start nor sign-in by password, is a 503, and is tried again after a while', async () => {
    const gone = await TestProvider.start();
    const config = gone.config();
    await gone.stop();
    await begin(config);
    await browser.signIn('root@example.com');
    const answer = await start();
    expect([answer.status, answer.headers['retry-after'], (answer.body as { error: string }).error]).toEqual([
      503,
      '5',
      expect.stringContaining('WHERRY_OIDC_ISSUER'),
    ]);
    const warned = () =>
      manager.logger.lines.filter(({ message }) => message === 'WHERRY_OIDC_ISSUER cannot be discovered').length;
    expect([(await start()).status, warned()]).toEqual([503, 1]);
    await manager.clock.advance(1000);
    expect([(await start()).status, warned()]).toEqual([503, 2]);
  });

  it('hinders no start after it was discovered, however long ago', async () => {
    const gone = await TestProvider.start();
    await begin(gone.config());
    expect((await start()).status).toBe(302);
    await gone.stop();
    await manager.clock.advance(3_600_000);
    expect([(await start()).status, (await start()).status]).toEqual([302, 302]);
    expect(manager.logger.lines.map(({ message }) => message)).toContain('WHERRY_OIDC_ISSUER cannot be discovered');
  });
});

describe('without a provider', () => {
  it('the paths are a 404, which names the setting', async () => {
    manager = await startTestManager();
    browser = new Browser(manager);
    for (const path of [START, '/api/auth/oidc/callback?code=x']) {
      const answer = await browser.send('get', path);
      expect([answer.status, (answer.body as { error: string }).error]).toEqual([
        404,
        expect.stringContaining('WHERRY_OIDC_ISSUER'),
      ]);
    }
  });
});

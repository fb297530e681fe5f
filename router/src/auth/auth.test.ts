import type { IncomingMessage } from 'node:http';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { BadKeyThrottle } from '@wherry/service/bad-key-throttle.ts';
import { eventually, GOOD_KEY, Harness, routerFunction, routerKey, type Answer } from '../testing/harness.ts';
import { presentedKey } from './carriers.ts';
import { KeyIndex } from './key-index.ts';
import { withoutKeys } from './query-key.ts';

const OTHER_KEY = 'wh_a-key-of-another-group';
/** Begins as the end of an escape may. */
const EXPIRED_KEY = '4f-a-key-that-has-expired';
/** With something between its characters that decoding skips. */
const broken = (text: string, by: string): string => `${text.slice(0, 20)}${by}${text.slice(20)}`;
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const escaped = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');

describe('presentedKey', () => {
  it.each([
    [['X-API-Key', 'k'], undefined, 'k'],
    [['x-api-key', 'k', 'Authorization', 'Bearer b'], 'api_key=q', 'k'],
    [['Authorization', 'Bearer b'], 'api_key=q', 'b'],
    [['Authorization', 'bEARER  b'], undefined, 'b'],
    [['Authorization', 'plain-key'], undefined, 'plain-key'],
    [['Authorization', basic(':k')], undefined, 'k'],
    [['Authorization', basic(':k:x').replace('Basic', 'bASIC')], undefined, 'k:x'],
    [[], 'x=1&api_key=q&api_key=r', 'q'],
    [[], 'api%5Fkey=a%2Bb', 'a+b'],
    [[], 'API_KEY=q', undefined],
    [[], undefined, undefined],
    [[], '', undefined],
  ])('reads %j with query %j as %j', (rawHeaders, query, key) => {
    expect(presentedKey(rawHeaders, query)).toBe(key);
  });

  it.each([
    ['an empty X-API-Key', ['X-API-Key', '', 'Authorization', `Bearer ${GOOD_KEY}`], undefined],
    ['two X-API-Keys', ['X-API-Key', GOOD_KEY, 'X-API-Key', GOOD_KEY], undefined],
    ['an empty Authorization', ['Authorization', ''], `api_key=${GOOD_KEY}`],
    ['Bearer alone', ['Authorization', 'Bearer'], undefined],
    ['Basic with a user name', ['Authorization', basic(`user:${GOOD_KEY}`)], undefined],
    ['Basic without a colon', ['Authorization', basic(GOOD_KEY)], undefined],
    ['an empty api_key', [], `api_key=&api_key=${GOOD_KEY}`],
  ])('a carrier that is present decides: %s is a bad key', (_name, rawHeaders, query) => {
    expect(presentedKey(rawHeaders, query)).toBe('');
  });
});

describe('withoutKeys', () => {
  it.each([
    ['api_key=K', undefined],
    ['api_key=K&x=%zz&&y', 'x=%zz&&y'],
    ['x=1&api_key=K&y=2', 'x=1&y=2'],
    ['api_key=K&api_key=other&api_key=K', 'api_key=other'],
    ['api%5fkey=%4B&x', 'x'],
    ['q=%4B%zz&r=%ff%4b&x', 'x'],
    ['x=+%20&api_key=other', 'x=+%20&api_key=other'],
    ['api%255fkey=%254B&x=%2524', 'x=%2524'],
  ])('%s becomes %s', (query, expected) => {
    expect(withoutKeys(query, ['K'])).toBe(expected);
  });
});

describe('BadKeyThrottle', () => {
  it('R10: the 21st bad key within 60 s is answered 429, until the window ends', async () => {
    const clock = new FakeClock();
    const throttle = new BadKeyThrottle(clock);
    for (let n = 0; n < 20; n++) expect(throttle.badKey('192.0.2.1')).toBeUndefined();
    await clock.advance(20_000);
    expect(throttle.badKey('192.0.2.1')).toBe(40);
    expect(throttle.badKey('192.0.2.2')).toBeUndefined();
    await clock.advance(40_000);
    expect(throttle.badKey('192.0.2.1')).toBeUndefined();
  });

  it('R10: a /64 of IPv6 is one address', () => {
    const throttle = new BadKeyThrottle(new FakeClock());
    for (let n = 0; n < 20; n++) throttle.badKey(`2001:db8:0:1::${n.toString(16)}`);
    expect(throttle.badKey('2001:0db8::1:ffff:1:2:3')).toBe(60);
    expect(throttle.badKey('2001:db8:0:2::1')).toBeUndefined();
  });

  it('R10: keeps a bounded number of addresses', () => {
    const throttle = new BadKeyThrottle(new FakeClock());
    for (let n = 0; n < 60_000; n++) throttle.badKey(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
    expect(throttle.addresses).toBeLessThanOrEqual(50_000);
  });
});

it('R7: a key is good until the moment at which it expires, and no longer', async () => {
  const clock = new FakeClock();
  const harness = await Harness.start({ clock });
  const fn = routerFunction({
    keyGroups: ['team'],
    instances: [await harness.instance((_req, res) => void res.end())],
  });
  const expiresAt = clock.now() + 60_000;
  await clock.advanceUntil(harness.serve([fn], [routerKey(GOOD_KEY, { expiresAt })]));
  const call = async (): Promise<number> =>
    (await harness.call('/run/hello', { headers: { 'X-API-Key': GOOD_KEY } })).status;
  await clock.advance(expiresAt - 1 - clock.now());
  expect(await call()).toBe(200);
  await clock.advance(1);
  expect(await call()).toBe(401);
  await harness.stop();
});

describe('keys on the wire', () => {
  let harness: Harness;
  let seen: IncomingMessage[];

  beforeEach(async () => {
    harness = await Harness.start();
    seen = [];
    const instance = await harness.instance((req, res) => {
      seen.push(req);
      res.end('ok');
    });
    await harness.serve(
      [
        routerFunction({ id: 'guarded', route: '/guarded/*', keyGroups: ['team'], instances: [instance] }),
        routerFunction({ id: 'open', route: '/open', maxRequestBytes: 8, instances: [instance] }),
      ],
      [
        routerKey(GOOD_KEY),
        routerKey(OTHER_KEY, { id: 'key-2', groupId: 'other', groupName: 'other' }),
        routerKey(EXPIRED_KEY, { id: 'key-3', expiresAt: Date.now() - 60_000 }),
      ],
    );
  });
  afterEach(() => harness.stop());

  const refused: [string, Record<string, string>][] = [
    ['missing', {}],
    ['unknown', { 'X-API-Key': 'wh_nobody-has-this-key' }],
    ['empty', { 'X-API-Key': '' }],
    ['expired', { 'X-API-Key': EXPIRED_KEY }],
    ["of another function's group", { 'X-API-Key': OTHER_KEY }],
    ['in Basic with a user', { Authorization: basic(`u:${GOOD_KEY}`) }],
  ];

  it('R7: every refused key gets the same bytes but for requestId', async () => {
    const answers: string[] = [];
    for (const [, headers] of refused) {
      const answer: Answer = await harness.call('/run/guarded', { headers });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="wherry", Basic realm="wherry"',
      ]);
      const { requestId } = answer.error;
      expect(answer.headers['x-request-id']).toBe(requestId);
      const raw = JSON.stringify([answer.status, answer.rawHeaders, answer.body]);
      answers.push(raw.replaceAll(requestId, 'ID').replace(/"Date","[^"]*"/, ''));
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('A valid API key is required: send it as X-API-Key.');
    expect(seen).toHaveLength(0);
    await eventually(() => harness.logs('exec_reject').length === refused.length);
    expect(harness.logs('exec_reject').map((entry) => entry.args)).toEqual([
      '{"reason":"missing_api_key"}',
      ...Array<string>(5).fill('{"reason":"invalid_api_key"}'),
    ]);
    expect(harness.metrics.value('auth_rejections_total', { reason: 'invalid_api_key' })).toBe(5);
  });

  it.each([
    ['X-API-Key', { 'X-API-Key': GOOD_KEY }, '/run/guarded?x=1'],
    ['Bearer', { Authorization: `Bearer ${GOOD_KEY}` }, '/run/guarded?x=1'],
    ['plain', { Authorization: GOOD_KEY }, '/run/guarded?x=1'],
    ['Basic', { Authorization: basic(`:${GOOD_KEY}`) }, '/run/guarded?x=1'],
    ['query', {}, `/run/guarded?api_key=${GOOD_KEY}&x=1`],
    [
      'all at once',
      { 'X-API-Key': GOOD_KEY, Authorization: basic(`u:${GOOD_KEY}`) },
      `/run/guarded?api_key=${GOOD_KEY}&x=1&api_key=${GOOD_KEY}`,
    ],
    ['a Referer', { 'X-API-Key': GOOD_KEY, Referer: `http://a/?api_key=${GOOD_KEY}` }, '/run/guarded?x=1'],
    [
      'an escaped Referer',
      { 'X-API-Key': GOOD_KEY, Referer: `http://a/%zz?api_key=${escaped(GOOD_KEY)}` },
      '/run/guarded?x=1',
    ],
  ])('R6: a good key in %s goes in, and no further', async (_name, headers, target) => {
    expect((await harness.call(target, { headers })).body).toBe('ok');
    expect(seen[0]?.url).toBe('/guarded?x=1');
    const { 'x-wherry-context': context, ...rest } = seen[0]?.headers ?? {};
    const text = JSON.stringify(rest) + Buffer.from(String(context), 'base64url').toString();
    expect(text).not.toContain(GOOD_KEY);
    expect(text).not.toContain(Buffer.from(GOOD_KEY).toString('base64').slice(4, 20));
    expect(text).not.toContain(escaped(GOOD_KEY));
    await eventually(() => harness.logs('exec_end').length === 1);
    expect(JSON.stringify(harness.up)).not.toContain(GOOD_KEY);
  });

  const carriers: [string, (key: string) => { headers?: Record<string, string | string[]>; query?: string }][] = [
    ['X-API-Key', (key) => ({ headers: { 'X-API-Key': key } })],
    ['X-API-Key, twice', (key) => ({ headers: { 'X-API-Key': ['wh_nobody-has-this-key', key] } })],
    ['Bearer', (key) => ({ headers: { Authorization: `bEARER  ${key}` } })],
    ['Bearer and a tab', (key) => ({ headers: { Authorization: `Bearer\t${key}` } })],
    ['another scheme', (key) => ({ headers: { Authorization: `ApiKey ${key}` } })],
    ['plain Authorization', (key) => ({ headers: { Authorization: key } })],
    ['Basic', (key) => ({ headers: { Authorization: basic(`:${key}`).replace('Basic', 'bASIC') } })],
    ['Basic, with a space in it', (key) => ({ headers: { Authorization: broken(basic(`:${key}`), ' ') } })],
    ['Basic, with a comma in it', (key) => ({ headers: { Authorization: broken(basic(`:${key}`), ',') } })],
    [
      'Basic, after a word that begins like it, with a space in it',
      (key) => ({ headers: { Authorization: `basicauth ${broken(basic(`:${key}`), ' ')}` } }),
    ],
    ['Basic, as the user', (key) => ({ headers: { Authorization: basic(`${key}:`) } })],
    ['Basic, escaped', (key) => ({ headers: { Authorization: basic(`:${escaped(key)}`) } })],
    ['Basic, after a tab', (key) => ({ headers: { Authorization: basic(`:${key}`).replace(' ', '\t') } })],
    ['Basic, after another scheme', (key) => ({ headers: { Authorization: `Negotiate abc, ${basic(`:${key}`)}` } })],
    ['the query', (key) => ({ query: `&api_key=${key}` })],
    ['the query, twice and escaped', (key) => ({ query: `&api_key=wh_nobody&%61pi_key=${escaped(key)}` })],
    ['the query in upper case', (key) => ({ query: `&API_KEY=${key}` })],
    ['the query of another framework', (key) => ({ query: `&api_key[]=${key}&y=2;api_key=${key}` })],
    ['X-API-Key, in brackets', (key) => ({ headers: { 'X-API-Key': `<${key}>` } })],
    ['the query, before a slash', (key) => ({ query: `&api_key=${key}/` })],
    ['a Referer', (key) => ({ headers: { Referer: `http://a/?token=${key}` } })],
    ['a name that is escaped twice', (key) => ({ query: `&api%255fkey=${key}` })],
    ['a value that is escaped twice', (key) => ({ query: `&api_key=${escaped(key).replaceAll('%', '%25')}` })],
    ['a value behind a stray %', (key) => ({ query: `&token=%${key}`, headers: { 'X-Token': `%${key}` } })],
    ['another parameter', (key) => ({ query: `&token=${key}` })],
    ["a parameter's name", (key) => ({ query: `&${key}` })],
    ['a cookie', (key) => ({ headers: { Cookie: `token=${key}` } })],
    ['an escaped cookie', (key) => ({ headers: { Cookie: `a=${escaped(key)}` } })],
    ['Host', (key) => ({ headers: { Host: `${key}.example.com` } })],
    ['Origin', (key) => ({ headers: { Origin: `https://${key}` } })],
    ["a header's name", (key) => ({ headers: { [key]: 'yes' } })],
    ["a part of a header's name, escaped", (key) => ({ headers: { [`X.Token.${escaped(key)}`]: 'yes' } })],
    ["a header of one's own", (key) => ({ headers: { 'X-Token': `Token ${key}` } })],
    ["Basic, in a header of one's own", (key) => ({ headers: { 'X-Original-Authorization': basic(`:${key}`) } })],
  ];
  const keys: [string, string][] = [
    ['the key that matches', GOOD_KEY],
    ["another group's key", OTHER_KEY],
    ['an expired key', EXPIRED_KEY],
  ];
  it.each(carriers.flatMap(([carrier, carry]) => keys.map(([kind, key]) => [kind, carrier, key, carry] as const)))(
    'R6: %s in %s reaches no handler, neither of an open function nor beside a good key',
    async (_kind, _carrier, key, carry) => {
      const { headers = {}, query = '' } = carry(key);
      await harness.call(`/run/open?x=1${query}`, { headers });
      if (headers['X-API-Key'] === undefined) {
        expect(
          (await harness.call(`/run/guarded?x=1${query}`, { headers: { 'X-API-Key': GOOD_KEY, ...headers } })).status,
        ).toBe(200);
      }
      for (const { url, headers: received, rawHeaders } of seen) {
        const { authorization = '' } = received;
        const basicTexts = [authorization.slice('basic'.length), ...authorization.split(/[\s,]+/)].map((token) =>
          Buffer.from(token, 'base64').toString(),
        );
        expect([url, rawHeaders, basicTexts].join()).not.toContain(key);
        expect([url, rawHeaders].join()).not.toContain(escaped(key));
        expect(received.referer).toBeUndefined();
      }
      expect(seen[0]?.url).toMatch(/^\/open\?x=1(?:&api_key=wh_nobody)?$/);
      expect(seen).toHaveLength(headers['X-API-Key'] === undefined ? 2 : 1);
      await eventually(() => harness.logs('exec_end').length === seen.length);
      expect(JSON.stringify(harness.up)).not.toContain(key);
    },
  );

  it('R6: of cookies those with a key go, and the others stay; a Host that is a key is none', async () => {
    await harness.call('/run/open', {
      headers: {
        Cookie: `session=of-the-function-itself; token=${OTHER_KEY}; theme=dark`,
        Host: `${OTHER_KEY}.example.com`,
      },
    });
    const { cookie, host, 'x-forwarded-host': forwardedHost } = seen[0]?.headers ?? {};
    expect([cookie, host, forwardedHost]).toEqual([
      'session=of-the-function-itself; theme=dark',
      'localhost',
      'localhost',
    ]);
  });

  it('R6: a key that a trusted proxy forwards goes no further either', async () => {
    const trusting = await Harness.start({ trustedProxies: ['127.0.0.0/8'] });
    try {
      const received: string[][] = [];
      const instance = await trusting.instance((req, res) => {
        received.push(req.rawHeaders);
        res.end('ok');
      });
      await trusting.serve([routerFunction({ keyGroups: null, instances: [instance] })], [routerKey(OTHER_KEY)]);
      const headers = {
        'X-Forwarded-Host': `${OTHER_KEY}.example.com`,
        'X-Forwarded-For': OTHER_KEY,
        Forwarded: `host=${OTHER_KEY}`,
        'X-Forwarded-Prefix': `/${OTHER_KEY}`,
      };
      expect((await trusting.call('/run/hello', { headers })).status).toBe(200);
      expect(received.join()).toContain('X-Forwarded-Host');
      expect(received.join()).not.toContain(OTHER_KEY);
    } finally {
      await trusting.stop();
    }
  });

  it('R6: what is no key passes unchanged, on an open function and beside a good key', async () => {
    const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
    const query = '?api_key=somebody-elses-key-1&x=%2f&y';
    for (const path of ['open', 'guarded']) {
      const own: Record<string, string> =
        path === 'open' ? { 'X-API-Key': 'of-another-service-altogether' } : { 'X-API-Key': GOOD_KEY };
      await harness.call(`/run/${path}${query}`, {
        headers: { ...own, Authorization: `Bearer ${token}`, Cookie: 'a=b' },
      });
    }
    expect(seen.map(({ url, headers }) => [url, headers.authorization, headers.cookie])).toEqual([
      [`/open${query}`, `Bearer ${token}`, 'a=b'],
      [`/guarded${query}`, `Bearer ${token}`, 'a=b'],
    ]);
    expect(seen[0]?.headers['x-api-key']).toBe('of-another-service-altogether');
  });

  it('R6, R12: words that could be keys are looked up where a call reaches its handler, 512 at most: with more it is refused', async () => {
    const words = (count: number): string =>
      Array.from({ length: count }, (_, at) => `no-key-${String(at).padStart(9, '0')}`).join('.');
    const find = jest.spyOn(KeyIndex.prototype, 'find');
    try {
      const made = async (
        path: string,
        headers: Record<string, string>,
        body = '',
      ): Promise<[status: number, digests: number]> => {
        find.mockClear();
        const { status } = await harness.call(path, { method: 'POST', headers, body });
        return [status, find.mock.calls.length];
      };
      expect(await made('/run/open', { 'X-Words': words(512) })).toEqual([200, 512]);
      expect(await made(`/run/open?${words(256)}`, { 'X-Words': words(512) })).toEqual([200, 512]);
      // A list of ids fits, though each is a word with its escaped comma too.
      const ids = Array.from({ length: 200 }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);
      expect(await made(`/run/open?ids=${ids.join('%2C')}`, {})).toEqual([200, 399]);
      expect(await made('/run/open', { 'X-Words': words(513) })).toEqual([431, 0]);
      expect(await made('/run/open', { 'X-Words': words(900) })).toEqual([431, 0]);
      expect(await made(`/run/open?${'%61.'.repeat(100)}${words(400)}`, { 'X-Words': words(513) })).toEqual([431, 0]);
      expect(await made('/run/open', { 'X-Basic': basic(words(513)) })).toEqual([431, 0]);
      expect(await made('/run/open', { 'X-Words': words(200) }, 'over the limit')).toEqual([413, 0]);
      // The one that is presented.
      expect(await made('/run/guarded/x', { 'X-Words': words(900), 'X-API-Key': 'wh_nobody-has-this-key' })).toEqual([
        401, 1,
      ]);
      expect(await made('/run/guarded/x', { 'X-Words': words(513), 'X-API-Key': GOOD_KEY })).toEqual([
        431,
        expect.any(Number),
      ]);
    } finally {
      find.mockRestore();
    }
    expect(seen).toHaveLength(3);
  });

  it('R6: no key in a path or an origin is in the log, of calls that are refused either', async () => {
    const headers = { Origin: `https://${OTHER_KEY}` };
    await harness.call(`/run/guarded/${OTHER_KEY}/x`, { headers });
    await harness.call(`/run/guarded/x/${escaped(EXPIRED_KEY)}`, { headers: { ...headers, 'X-API-Key': GOOD_KEY } });
    await eventually(() => harness.logs('exec_end').length === 1);
    expect([...harness.logs('exec_reject'), ...harness.logs('exec_start')].map(({ message }) => message)).toEqual([
      'GET /guarded/***/x',
      'GET /guarded/x/***',
    ]);
    expect(JSON.stringify(harness.up)).not.toContain(OTHER_KEY);
  });

  it("gives the function the key's name", async () => {
    await harness.call('/run/guarded/a%20b/c', { headers: { 'X-API-Key': GOOD_KEY } });
    const context = JSON.parse(
      Buffer.from(String(seen[0]?.headers['x-wherry-context']), 'base64url').toString(),
    ) as object;
    expect(context).toMatchObject({
      key: { id: 'key-1', name: 'first', groupId: 'team', groupName: 'team' },
      params: { '*': 'a b/c' },
      timeoutMs: 5000,
      scheme: 'http',
    });
  });

  it('R10: after 20 bad keys further bad ones get 429, and a good one still gets in', async () => {
    const bad = (): Promise<Answer> => harness.call('/run/guarded', { headers: { 'X-API-Key': OTHER_KEY } });
    for (let n = 0; n < 20; n++) expect((await bad()).status).toBe(401);
    const throttled = await bad();
    expect([throttled.status, throttled.error.code]).toEqual([429, 'throttled']);
    expect(Number(throttled.headers['retry-after'])).toBeGreaterThan(50);
    expect((await harness.call('/run/guarded')).status).toBe(401);
    expect((await harness.call('/run/guarded', { headers: { 'X-API-Key': GOOD_KEY } })).status).toBe(200);
  });

  it('R8: a revoked key is refused once the change is confirmed; a lost feed changes nothing', async () => {
    const call = (): Promise<Answer> => harness.call('/run/guarded', { headers: { 'X-API-Key': GOOD_KEY } });
    expect((await call()).status).toBe(200);
    await harness.apply({
      type: 'change',
      version: 2,
      resourceVersion: '2',
      removedKeys: [routerKey(GOOD_KEY).digest],
    });
    expect((await call()).status).toBe(401);
    await harness.apply({ type: 'change', version: 3, resourceVersion: '3', keys: [routerKey(GOOD_KEY)] });
    await harness.loseFeed();
    expect((await call()).status).toBe(200);
    expect((await harness.call('/run/guarded')).status).toBe(401);
  });
});

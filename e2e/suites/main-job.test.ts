import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * The main job from outside, in the order in which a person comes upon it: group, key, source, files, function, calls by
 * every carrier, refusals, preflight, disable and enable, edits under load, a broken edit, delete.
 */

const HANDLER = `
import { greeting } from './lib/greeting.ts';
import { shout } from '../shared/shout';
export default async (c, ctx) => {
  const body = c.req.method === 'POST' ? await c.req.json() : undefined;
  return c.json({ text: shout(greeting(ctx.params.id)), group: ctx.authenticatedKeyGroup, body, headers: Object.fromEntries(c.req.raw.headers), url: c.req.url });
};`;
const greeting = (word: string): string => `export const greeting = (id: string): string => \`${word} \${id}\`;`;

let platform: Platform;
let api: ApiClient;
let key: string;
let otherKey: string;
let functionId: string;

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
}, 60_000);

afterAll(() => platform?.dispose(), 30_000);

const run = (path: string, init?: RequestInit): ReturnType<typeof send> =>
  send(`${platform.functionUrl}/run${path}`, init);
const withKey = (init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { 'x-api-key': key, ...(init.headers as object) },
});

describe('the main job', () => {
  it('makes a group, a key, two sources and a function of three files', async () => {
    const group = await api.groupWithKey('customers');
    key = group.value;
    expect(key).toMatch(/^wh_[A-Za-z0-9_-]{43}$/);
    otherKey = (await api.groupWithKey('another-group')).value;
    await api.source('shared', { 'shout.ts': 'export const shout = (text: string): string => text.toUpperCase();' });
    await api.source('my-api', { 'lib/greeting.ts': greeting('hello'), 'users.ts': HANDLER });
    functionId = await api.function({
      name: 'Users',
      handler: 'my-api/users.ts',
      route: '/users/:id',
      methods: ['GET', 'POST'],
      keys: [group.groupId],
      cors: { origins: ['https://app.example'], credentials: true },
    });
    const answer = await eventually(async () => {
      const first = await run('/users/7', withKey());
      expect(first.status).toBe(200);
      return first;
    }, platform.startsWithinMs);
    expect(answer.body).toMatchObject({ text: 'HELLO 7', group: 'customers' });
    expect(new URL(answer.body.url as string).pathname).toBe('/users/7');
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['X-API-Key', (): RequestInit => ({ headers: { 'x-api-key': key } }), ''],
    ['Authorization: Bearer', (): RequestInit => ({ headers: { authorization: `Bearer ${key}` } }), ''],
    ['Authorization, the plain key', (): RequestInit => ({ headers: { authorization: key } }), ''],
    ['Authorization: Basic', (): RequestInit => ({ headers: { authorization: `Basic ${btoa(`:${key}`)}` } }), ''],
    ['api_key in the query', (): RequestInit => ({}), 'api_key='],
  ])('takes the key by %s, and hands it on to nobody (R6)', async (_carrier, init, query) => {
    const answer = await run(`/users/7?a=1${query === '' ? '' : `&${query}${key}`}&b=2`, init());
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain(key);
    expect(new URL(answer.body.url as string).search).toBe('?a=1&b=2');
  });

  it('answers 401 alike without a key, with an unknown one and with one of another group (R7)', async () => {
    const attempts: RequestInit[] = [
      {},
      { headers: { 'x-api-key': 'wh_unknown' } },
      { headers: { 'x-api-key': otherKey } },
    ];
    const answers = await Promise.all(attempts.map((init) => run('/users/7', init)));
    const bodies = answers.map(({ body }) => ({ ...body, requestId: '' }));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(answers[0]!.headers.get('www-authenticate')).not.toBeNull();
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
  });

  it('lets a present carrier decide: a bad X-API-Key is not rescued by a good Authorization', async () => {
    const answer = await run('/users/7', { headers: { 'x-api-key': otherKey, authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(401);
  });

  it('takes a body by POST, and refuses other methods with 405 and Allow', async () => {
    const posted = await run(
      '/users/7',
      withKey({ method: 'POST', body: '{"n":1}', headers: { 'content-type': 'application/json' } }),
    );
    expect(posted.body).toMatchObject({ text: 'HELLO 7', body: { n: 1 } });
    const refused = await run('/users/7', withKey({ method: 'DELETE' }));
    expect(refused.status).toBe(405);
    expect(refused.headers.get('allow')!.split(', ').toSorted()).toEqual(['GET', 'HEAD', 'POST']);
  });

  it('answers a preflight without a key, for the listed origin only', async () => {
    const callFrom = (origin: string): ReturnType<typeof send> =>
      run('/users/7', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
    const allowed = await callFrom('https://app.example');
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(allowed.headers.get('access-control-allow-credentials')).toBe('true');
    expect(allowed.headers.get('access-control-allow-headers')).toMatch(/X-API-Key/i);
    const other = await callFrom('https://evil.example');
    expect(other.status).toBe(204);
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('answers 404 while disabled, the same as for an unknown route, and serves again when enabled', async () => {
    const unknown = await run('/no-such-route');
    await api.expect('PUT', `/api/functions/${functionId}/disable`);
    const disabled = await eventually(async () => {
      const answer = await run('/users/7', withKey());
      expect(answer.status).toBe(404);
      return answer;
    }, 1000);
    expect({ ...disabled.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
    expect((await api.expect('GET', `/api/functions/${functionId}`)).body.function).toMatchObject({
      enabled: false,
      status: { ready: false, reason: 'Disabled' },
    });
    await api.expect('PUT', `/api/functions/${functionId}/enable`);
    await eventually(
      async () => expect((await run('/users/7', withKey())).status).toBe(200),
      platform.startsWithinMs * 5,
    );
  });

  it('FT7: moves to new code without losing a call: 20 edits of a helper under load, 0 failed', async () => {
    const source = (await api.expect('GET', '/api/sources/by-name/my-api')).body.id as string;
    const seen = new Map<string, number>();
    let running = true;
    const caller = async (): Promise<void> => {
      while (running) {
        const answer = await run('/users/7', withKey());
        const outcome = answer.status === 200 ? (answer.body.text as string) : `${answer.status} ${answer.text}`;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    };
    const callers = [caller(), caller(), caller()];
    try {
      for (let edit = 1; edit <= 20; edit += 1) {
        await api.upload(source, 'lib/greeting.ts', greeting(`edit ${edit} of`));
        await eventually(
          async () => expect((await run('/users/7', withKey())).body.text).toBe(`EDIT ${edit} OF 7`),
          platform.startsWithinMs * 5,
        );
      }
    } finally {
      running = false;
      await Promise.all(callers);
    }
    expect([...seen.keys()].filter((outcome) => !/^(HELLO|EDIT \d+ OF) 7$/.test(outcome))).toEqual([]);
    expect(seen.size).toBeGreaterThan(10);
  }, 120_000);

  it('keeps the old code when an edit does not build, and says file, line and column', async () => {
    const source = (await api.expect('GET', '/api/sources/by-name/my-api')).body.id as string;
    await api.upload(
      source,
      'lib/greeting.ts',
      'export const greeting = (id: string): string =>\n  `unfinished ${id;\n',
    );
    const broken = await api.functionWhen(functionId, ({ status }) => status.reason === 'SyntaxError');
    expect(broken.status.ready).toBe(true);
    expect(broken.status.message).toMatch(/my-api\/lib\/greeting\.ts:2:\d+/);
    expect((await run('/users/7', withKey())).body.text).toBe('EDIT 20 OF 7');
    await api.upload(source, 'lib/greeting.ts', greeting('fixed for'));
    await eventually(
      async () => expect((await run('/users/7', withKey())).body.text).toBe('FIXED FOR 7'),
      platform.startsWithinMs * 5,
    );
    await api.functionWhen(functionId, ({ status }) => status.ready === true && status.reason === 'Ready');
  });

  it('keeps serving the last good revision when the source is deleted', async () => {
    await api.expect('DELETE', `/api/sources/${(await api.expect('GET', '/api/sources/by-name/shared')).body.id}`);
    await api.functionWhen(functionId, ({ status }) => status.ready === true && status.reason !== 'Ready');
    expect((await run('/users/7', withKey())).status).toBe(200);
  });

  it('shuts a deleted key out within a second (R8)', async () => {
    const [groupId] = (await api.expect('GET', `/api/functions/${functionId}`)).body.function.keys;
    const extra = (await api.expect('POST', '/api/keys', { groupId, name: 'short-lived' })).body;
    const call = (): ReturnType<typeof send> => run('/users/7', { headers: { 'x-api-key': extra.value } });
    await eventually(async () => expect((await call()).status).toBe(200), 1000);
    await api.expect('DELETE', `/api/keys/${extra.id}`);
    await eventually(async () => expect((await call()).status).toBe(401), 1000);
  });

  it('has written down what was called and what was printed', async () => {
    await eventually(async () => {
      const { logs } = (await api.expect('GET', `/api/logs?functionId=${functionId}&limit=1000`)).body.data;
      const levels = new Set(logs.map((entry: { level: string }) => entry.level));
      expect([...levels]).toEqual(expect.arrayContaining(['exec_start', 'exec_end', 'exec_reject']));
      expect(JSON.stringify(logs)).not.toContain(key);
    });
  });

  it('answers 404 after the function is deleted', async () => {
    expect((await api.request('DELETE', `/api/functions/${functionId}`)).status).toBe(204);
    await eventually(async () => expect((await run('/users/7', withKey())).status).toBe(404), 1000);
    expect((await api.request('GET', `/api/functions/${functionId}`)).status).toBe(404);
  });
});

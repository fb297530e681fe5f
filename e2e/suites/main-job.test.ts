import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * The main job from outside: group, key, source, files, function, calls by every carrier, refusals, preflight, disable
 * and enable, edits under load, a broken edit, delete. Whatever a test changes is its own.
 */

const handler = (name: string): string => `
import { greeting } from './lib/greeting.ts';
import { shout } from '../${name}-shared/shout';
export default async (c, ctx) => {
  const body = c.req.method === 'POST' ? await c.req.json() : undefined;
  return c.json({ text: shout(greeting(ctx.params.id)), group: ctx.authenticatedKeyGroup, body, headers: Object.fromEntries(c.req.raw.headers), url: c.req.url });
};`;
const greeting = (word: string): string => `export const greeting = (id: string): string => \`${word} \${id}\`;`;

/** A function of three files in two sources, which one key opens. */
interface Job {
  id: string;
  key: string;
  source: string;
  shared: string;
  /** Under `/run`, with a parameter. */
  path: string;
}

const NAMES = ['users', 'switched', 'edited', 'broken', 'orphaned', 'deleted'] as const;

let platform: Platform;
let api: ApiClient;
let jobs: Record<(typeof NAMES)[number], Job>;
/** Of a group that opens none of them. */
let otherKey: string;

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  otherKey = (await api.groupWithKey('another-group')).value;
  jobs = Object.fromEntries(await Promise.all(NAMES.map(async (name) => [name, await make(name)]))) as typeof jobs;
}, 120_000);

afterAll(() => platform?.dispose(), 30_000);

async function make(name: string): Promise<Job> {
  const group = await api.groupWithKey(`customers-of-${name}`);
  const shared = await api.source(`${name}-shared`, {
    'shout.ts': 'export const shout = (text: string): string => text.toUpperCase();',
  });
  const source = await api.source(`${name}-api`, { 'lib/greeting.ts': greeting('hello'), 'users.ts': handler(name) });
  const id = await api.readyFunction({
    name,
    handler: `${name}-api/users.ts`,
    route: `/${name}/:id`,
    methods: ['GET', 'POST'],
    keys: [group.groupId],
    cors: { origins: ['https://app.example'], credentials: true },
  });
  return { id, key: group.value, source, shared, path: `/${name}/7` };
}

const run = (path: string, init?: RequestInit): ReturnType<typeof send> =>
  send(`${platform.functionUrl}/run${path}`, init);
const withKey = (key: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { 'x-api-key': key, ...(init.headers as object) },
});
/** Calls it with its key. */
const call = ({ path, key }: Job, init?: RequestInit): ReturnType<typeof send> => run(path, withKey(key, init));

describe('the main job', () => {
  it('answers for a function of three files in two sources, with the group of the key', async () => {
    expect(jobs.users.key).toMatch(/^wh_[A-Za-z0-9_-]{43}$/);
    const answer = await call(jobs.users);
    expect(answer.body).toMatchObject({ text: 'HELLO 7', group: 'customers-of-users' });
    expect(new URL(answer.body.url as string).pathname).toBe('/users/7');
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['X-API-Key', (key: string): RequestInit => ({ headers: { 'x-api-key': key } }), ''],
    ['Authorization: Bearer', (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } }), ''],
    ['Authorization, the plain key', (key: string): RequestInit => ({ headers: { authorization: key } }), ''],
    [
      'Authorization: Basic',
      (key: string): RequestInit => ({ headers: { authorization: `Basic ${btoa(`:${key}`)}` } }),
      '',
    ],
    ['api_key in the query', (): RequestInit => ({}), 'api_key='],
  ])('takes the key by %s, and hands it on to nobody (R6)', async (_carrier, init, query) => {
    const { key } = jobs.users;
    const answer = await run(`/users/7?a=1${query === '' ? '' : `&${query}${key}`}&b=2`, init(key));
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
    const answer = await run('/users/7', {
      headers: { 'x-api-key': otherKey, authorization: `Bearer ${jobs.users.key}` },
    });
    expect(answer.status).toBe(401);
  });

  it('takes a body by POST, and refuses other methods with 405 and Allow', async () => {
    const posted = await call(jobs.users, {
      method: 'POST',
      body: '{"n":1}',
      headers: { 'content-type': 'application/json' },
    });
    expect(posted.body).toMatchObject({ text: 'HELLO 7', body: { n: 1 } });
    const refused = await call(jobs.users, { method: 'DELETE' });
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
    const job = jobs.switched;
    const unknown = await run('/no-such-route');
    await api.expect('PUT', `/api/functions/${job.id}/disable`);
    const disabled = await eventually(async () => {
      const answer = await call(job);
      expect(answer.status).toBe(404);
      return answer;
    }, 1000);
    expect({ ...disabled.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
    expect((await api.expect('GET', `/api/functions/${job.id}`)).body.function).toMatchObject({
      enabled: false,
      status: { ready: false, reason: 'Disabled' },
    });
    await api.expect('PUT', `/api/functions/${job.id}/enable`);
    await eventually(async () => expect((await call(job)).status).toBe(200), platform.startsWithinMs * 5);
  });

  it('FT7: moves to new code without losing a call: 20 edits of a helper under load, 0 failed', async () => {
    const job = jobs.edited;
    const seen = new Map<string, number>();
    let running = true;
    const caller = async (): Promise<void> => {
      while (running) {
        const answer = await call(job);
        const outcome = answer.status === 200 ? (answer.body.text as string) : `${answer.status} ${answer.text}`;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    };
    const callers = [caller(), caller(), caller()];
    try {
      for (let edit = 1; edit <= 20; edit += 1) {
        await api.upload(job.source, 'lib/greeting.ts', greeting(`edit ${edit} of`));
        await eventually(
          async () => expect((await call(job)).body.text).toBe(`EDIT ${edit} OF 7`),
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
    const job = jobs.broken;
    await api.upload(
      job.source,
      'lib/greeting.ts',
      'export const greeting = (id: string): string =>\n  `unfinished ${id;\n',
    );
    const broken = await api.functionWhen(job.id, ({ status }) => status.reason === 'SyntaxError');
    expect(broken.status.ready).toBe(true);
    expect(broken.status.message).toMatch(/broken-api\/lib\/greeting\.ts:2:\d+/);
    expect((await call(job)).body.text).toBe('HELLO 7');
    await api.upload(job.source, 'lib/greeting.ts', greeting('fixed for'));
    await eventually(async () => expect((await call(job)).body.text).toBe('FIXED FOR 7'), platform.startsWithinMs * 5);
    await api.functionWhen(job.id, ({ status }) => status.ready === true && status.reason === 'Ready');
  });

  it('keeps serving the last good revision when the source is deleted', async () => {
    const job = jobs.orphaned;
    await api.expect('DELETE', `/api/sources/${job.shared}`);
    await api.functionWhen(job.id, ({ status }) => status.ready === true && status.reason !== 'Ready');
    expect((await call(job)).status).toBe(200);
  });

  it('shuts a deleted key out within a second (R8)', async () => {
    const [groupId] = (await api.expect('GET', `/api/functions/${jobs.users.id}`)).body.function.keys;
    const extra = (await api.expect('POST', '/api/keys', { groupId, name: 'short-lived' })).body;
    const callWithIt = (): ReturnType<typeof send> => run('/users/7', withKey(extra.value));
    await eventually(async () => expect((await callWithIt()).status).toBe(200), 1000);
    await api.expect('DELETE', `/api/keys/${extra.id}`);
    await eventually(async () => expect((await callWithIt()).status).toBe(401), 1000);
  });

  it('has written down what was called and what was printed', async () => {
    await Promise.all([call(jobs.users), run('/users/7')]);
    await eventually(async () => {
      const { logs } = (await api.expect('GET', `/api/logs?functionId=${jobs.users.id}&limit=1000`)).body.data;
      const levels = new Set(logs.map((entry: { level: string }) => entry.level));
      expect([...levels]).toEqual(expect.arrayContaining(['exec_start', 'exec_end', 'exec_reject']));
      expect(JSON.stringify(logs)).not.toContain(jobs.users.key);
    });
  });

  it('answers 404 after the function is deleted', async () => {
    const job = jobs.deleted;
    expect((await api.request('DELETE', `/api/functions/${job.id}`)).status).toBe(204);
    await eventually(async () => expect((await call(job)).status).toBe(404), 1000);
    expect((await api.request('GET', `/api/functions/${job.id}`)).status).toBe(404);
  });
});

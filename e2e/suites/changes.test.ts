import { randomUUID } from 'node:crypto';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * Changes through the management API, as callers of the function port see them: active within a second, in one step,
 * without a failed call.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const WITHIN_MS = 1000;
/** For new code, a build included. */
const codeWithinMs = (): number => platform.startsWithinMs * 5;

let platform: Platform;
let api: ApiClient;

const run = (path: string, init?: RequestInit): Promise<Answer> => send(`${platform.functionUrl}/run${path}`, init);
const keyed = (path: string, key: string): Promise<Answer> => run(path, { headers: { 'x-api-key': key } });
const text = (word: string): string => `export default (c) => c.text('${word}');`;
const becomes = (path: string, status: number, body?: string, ms = WITHIN_MS): Promise<void> =>
  eventually(async () => {
    const answer = await run(path);
    expect([answer.status, body === undefined ? undefined : answer.text]).toEqual([status, body]);
  }, ms);

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
}, 60_000);

afterAll(() => platform?.dispose(), 30_000);

/** Calls without a pause until stopped; gives every distinct outcome that was not expected. */
function callOn(path: string, isGood: (answer: Answer) => boolean): () => Promise<string[]> {
  const ending = new AbortController();
  const bad = new Set<string>();
  const loop = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const answer = await run(path).catch((error: unknown) => String(error));
      if (typeof answer === 'string') bad.add(answer);
      else if (!isGood(answer)) bad.add(`${answer.status} ${answer.text}`);
    }
  };
  const loops = [loop(), loop()];
  return async () => {
    ending.abort();
    await Promise.all(loops);
    return [...bad];
  };
}

describe('every answer', () => {
  it.each([
    ['management', (): string => `${platform.managementUrl}/api/functions`],
    ['management, an unknown path', (): string => `${platform.managementUrl}/api/nothing`],
    ['management, outside of /api', (): string => `${platform.managementUrl}/nothing`],
    ['functions, an unknown route', (): string => `${platform.functionUrl}/run/nothing`],
    ['functions, outside of /run', (): string => `${platform.functionUrl}/nothing`],
  ])('carries an X-Request-Id of its own making, and errors have one shape (%s)', async (_port, url) => {
    const given = randomUUID();
    const answer = await send(url(), { headers: { 'x-request-id': given } });
    expect(answer.headers.get('x-request-id')).toMatch(UUID);
    expect(answer.headers.get('x-request-id')).not.toBe(given);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body).toEqual({
      error: expect.any(String),
      code: expect.any(String),
      requestId: answer.headers.get('x-request-id'),
    });
  });
});

describe('keys and groups', () => {
  it('are active within a second: made, disabled, given another value, expired, required, no longer required', async () => {
    await api.source('keys', { 'ok.js': text('ok') });
    const { groupId, keyId, value } = await api.groupWithKey('changing');
    const definition = { name: 'changing', handler: 'keys/ok.js', route: '/changing', methods: ['GET'] };
    const id = await api.readyFunction({ ...definition, keys: [groupId] });
    const answers = (key: string, status: number): Promise<void> =>
      eventually(async () => expect((await keyed('/changing', key)).status).toBe(status), WITHIN_MS);
    const put = (body: object): Promise<Answer> => api.expect('PUT', `/api/keys/${keyId}`, body);

    await answers(value, 200);
    await put({ enabled: false });
    await answers(value, 401);
    await put({ enabled: true });
    await answers(value, 200);
    await put({ value: 'another-value-of-this-key' });
    await answers(value, 401);
    await answers('another-value-of-this-key', 200);
    await put({ expiresAt: new Date(Date.now() - 1000).toISOString() });
    await answers('another-value-of-this-key', 401);
    await put({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    await answers('another-value-of-this-key', 200);
    await put({ expiresAt: new Date(Date.now() + 600).toISOString() });
    await eventually(
      async () => expect((await keyed('/changing', 'another-value-of-this-key')).status).toBe(401),
      600 + WITHIN_MS,
    );

    await api.expect('PUT', `/api/functions/${id}`, { ...definition, keys: [] });
    await becomes('/changing', 200);
    const other = await api.groupWithKey('required');
    await api.expect('PUT', `/api/functions/${id}`, { ...definition, keys: [other.groupId] });
    await becomes('/changing', 401);
    await answers(other.value, 200);
    // Keys left out of a definition stay: the added method is guarded as the other one is.
    await api.expect('PUT', `/api/functions/${id}`, { ...definition, methods: ['GET', 'POST'] });
    await eventually(async () => expect((await run('/changing', { method: 'POST' })).status).toBe(401), WITHIN_MS);
    expect((await run('/changing')).status).toBe(401);
    expect((await api.request('DELETE', `/api/key-groups/${other.groupId}`)).status).toBe(409);
  });

  it('open the management port to those in api.access-groups alone', async () => {
    const { groupId, value } = await api.groupWithKey('helpers');
    const manage = (): Promise<Answer> =>
      send(`${platform.managementUrl}/api/functions`, { headers: { 'x-api-key': value } });
    expect((await manage()).status).toBe(401);
    await api.expect('PUT', '/api/settings', { settings: { 'api.access-groups': `management,${groupId}` } });
    await eventually(async () => expect((await manage()).status).toBe(200), WITHIN_MS);
    await api.expect('PUT', '/api/settings', { settings: { 'api.access-groups': 'management' } });
    await eventually(async () => expect((await manage()).status).toBe(401), WITHIN_MS);
  });
});

describe('code', () => {
  it('of a whole folder moves in one step: each answer is of one tree, and it is one revision', async () => {
    const tree = (word: string): FormData => {
      const form = new FormData();
      form.append(
        'file',
        new Blob([`import { b } from './b.js'; export default (c) => c.text('${word} ' + b);`]),
        'a.js',
      );
      form.append('file', new Blob([`export const b = '${word}';`]), 'b.js');
      return form;
    };
    const source = await api.source('folder');
    const put = (word: string): Promise<Answer> =>
      api.expect('PUT', `/api/sources/${source}/tree`, undefined, { body: tree(word) });
    expect((await put('one')).body).toMatchObject({ success: true, files: 2 });
    const id = await api.readyFunction({ name: 'folder', handler: 'folder/a.js', route: '/folder' });
    const revisions = async (): Promise<{ revision: string; active: boolean }[]> =>
      (await api.expect('GET', `/api/functions/${id}/revisions`)).body.revisions;
    expect(await revisions()).toHaveLength(1);
    const stop = callOn('/folder', ({ status, text: said }) => status === 200 && /^(\w+) \1$/.test(said));
    await put('two');
    await becomes('/folder', 200, 'two two', codeWithinMs());
    expect(await stop()).toEqual([]);
    await eventually(async () => expect((await revisions()).map(({ active }) => active)).toEqual([true, false]));
  });

  it('goes back to an older revision and stays there through edits, until it follows its source again', async () => {
    const source = await api.source('rollback', { 'r.js': text('first') });
    const id = await api.readyFunction({ name: 'rollback', handler: 'rollback/r.js', route: '/rollback' });
    const firstRevision = (await api.expect('GET', `/api/functions/${id}`)).body.function.status.revision as string;
    await api.upload(source, 'r.js', text('second'));
    await becomes('/rollback', 200, 'second', codeWithinMs());
    const rollback = (revision: string | null): Promise<Answer> =>
      api.request('POST', `/api/functions/${id}/rollback`, { revision });
    const pinned = await rollback(firstRevision);
    expect([pinned.status, pinned.body.function.pinnedRevision]).toEqual([200, firstRevision]);
    await becomes('/rollback', 200, 'first', codeWithinMs());
    await api.functionWhen(id, ({ status }) => status.revision === firstRevision && status.ready === true);
    const stop = callOn('/rollback', ({ text: said }) => said === 'first');
    await api.upload(source, 'r.js', text('third'));
    // Another function of the same code, which follows it, shows when the edit is through.
    await api.readyFunction({ name: 'follower', handler: 'rollback/r.js', route: '/follower' });
    await becomes('/follower', 200, 'third', codeWithinMs());
    expect(await stop()).toEqual([]);
    expect((await api.expect('GET', `/api/functions/${id}`)).body.function).toMatchObject({
      pinnedRevision: firstRevision,
      status: { ready: true, revision: firstRevision },
    });
    expect((await rollback(null)).body.function.pinnedRevision).toBeNull();
    await becomes('/rollback', 200, 'third', codeWithinMs());
    expect((await rollback('0'.repeat(64))).status).toBe(404);
  });

  it('keeps serving when its source is deleted, and when its handler names nothing any more', async () => {
    const source = await api.source('short-lived', { 'h.js': text('still here') });
    const definition = { name: 'orphan', handler: 'short-lived/h.js', route: '/orphan', methods: ['GET'] };
    const id = await api.readyFunction(definition);
    const stop = callOn('/orphan', ({ text: said }) => said === 'still here');
    await api.expect('DELETE', `/api/sources/${source}`);
    const orphaned = await api.functionWhen(id, ({ status }) => status.reason === 'SourceNotFound');
    expect(orphaned.status.ready).toBe(true);
    await api.expect('PUT', `/api/functions/${id}`, { ...definition, handler: 'nowhere/h.js' });
    await api.functionWhen(id, ({ status }) => status.ready === true && String(status.message).includes('nowhere'));
    expect(await stop()).toEqual([]);
  });
});

describe('routes', () => {
  const fn = (name: string, route: string, more: object = {}): Promise<string> =>
    api.readyFunction({ name, handler: `routes/${name}.js`, route, ...more });

  beforeAll(async () => {
    await api.source(
      'routes',
      Object.fromEntries(
        ['get', 'post', 'literal', 'parameter', 'rest', 'mover'].map((name) => [`${name}.js`, text(name)]),
      ),
    );
  });

  it('are shared by functions whose methods differ; one whose methods overlap is refused with 409, naming the other', async () => {
    await Promise.all([fn('get', '/shared/:id'), fn('post', '/shared/:name', { methods: ['POST', 'PUT'] })]);
    expect((await run('/shared/1')).text).toBe('get');
    expect((await run('/shared/1', { method: 'POST' })).text).toBe('post');
    const refused = await run('/shared/1', { method: 'DELETE' });
    expect(refused.status).toBe(405);
    expect(refused.headers.get('allow')!.split(', ').toSorted()).toEqual(['GET', 'HEAD', 'POST', 'PUT']);
    const conflict = await api.request('POST', '/api/functions', {
      name: 'x',
      handler: 'routes/get.js',
      route: '/shared/:other',
      methods: ['PUT', 'PATCH'],
    });
    expect([conflict.status, conflict.body.code]).toEqual([409, 'conflict']);
    expect(conflict.body.error).toContain('post');
  });

  it('that are more specific win, segment by segment', async () => {
    await Promise.all([fn('literal', '/order/new'), fn('parameter', '/order/:id'), fn('rest', '/order/*')]);
    const answers = await Promise.all(
      ['/order/new', '/order/7', '/order/7/more', '/order', '/order/new/'].map(async (path) => (await run(path)).text),
    );
    expect(answers).toEqual(['literal', 'parameter', 'rest', 'rest', 'literal']);
  });

  it('move in one step: at every moment the old one answers or the new one does', async () => {
    const id = await fn('mover', '/moves/here');
    const definition = { name: 'mover', handler: 'routes/mover.js', methods: ['GET'] };
    await api.expect('PUT', `/api/functions/${id}`, { ...definition, route: '/moves/there' });
    await becomes('/moves/there', 200, 'mover');
    await becomes('/moves/here', 404);
    const stop = callOn('/moves/there', ({ text: said }) => said === 'mover');
    await api.expect('PUT', `/api/functions/${id}`, { ...definition, name: 'renamed', route: '/moves/there' });
    expect((await api.functionWhen(id, ({ name, status }) => name === 'renamed' && status.ready === true)).id).toBe(id);
    await api.expect('PUT', `/api/functions/${id}/disable`);
    await becomes('/moves/there', 404);
    await stop();
    await api.expect('PUT', `/api/functions/${id}/enable`);
    await becomes('/moves/there', 200, 'mover', platform.startsWithinMs);
  });

  it('that a deleted function held are free at once', async () => {
    const id = await fn('mover', '/freed');
    await api.request('DELETE', `/api/functions/${id}`);
    await fn('get', '/freed');
    await becomes('/freed', 200, 'get', platform.startsWithinMs);
  });
});

describe('instances', () => {
  /** In a cluster; one on one machine. */
  const ROUTERS = 2;
  /** Says who it is, at once; with \`hold\`, the call goes on until its caller leaves. */
  const WHO = `
    const me = crypto.randomUUID();
    const held = (signal) => new ReadableStream({ start(controller) {
      controller.enqueue(new TextEncoder().encode(me));
      signal.addEventListener('abort', () => controller.close());
    } });
    export default (c, ctx) => (ctx.query.hold === undefined ? c.text(me) : new Response(held(ctx.signal)));`;

  /** One call after the other, none of which ends before all have begun. @returns who took each */
  async function whoHolds(calls: number): Promise<string[]> {
    const leaving = new AbortController();
    const took: string[] = [];
    for (let n = 0; n < calls; n += 1) {
      const { body } = await fetch(`${platform.functionUrl}/run/replicas?hold`, { signal: leaving.signal });
      const { value } = await body!.getReader().read();
      took.push(new TextDecoder().decode(value));
    }
    leaving.abort();
    return took;
  }

  it('are as many as minReplicas says, share the calls, and are replaced without a failed call when limits change', async () => {
    await api.source('replicas', { 'who.js': WHO });
    const definition = { name: 'replicas', handler: 'replicas/who.js', route: '/replicas', methods: ['GET'] };
    const id = await api.readyFunction({ ...definition, scaling: { minReplicas: 2, maxReplicas: 2 } });
    expect((await api.functionWhen(id, ({ status }) => status.readyReplicas === 2)).status.replicas).toBe(2);
    const collect = async (): Promise<string[]> =>
      Promise.all(Array.from({ length: 40 }, async () => (await run('/replicas')).text));
    const counts = Object.values(Object.groupBy(await whoHolds(40), (who) => who)).map((group) => group!.length);
    expect(counts).toHaveLength(2);
    // Each router gives a call to the instance that has the fewest of its own: they differ by one a router.
    expect(Math.abs(counts[0]! - counts[1]!)).toBeLessThanOrEqual(ROUTERS);

    const before = new Set(await collect());
    const stop = callOn('/replicas', ({ status }) => status === 200);
    await api.expect('PUT', `/api/functions/${id}`, {
      ...definition,
      scaling: { minReplicas: 2, maxReplicas: 2 },
      resources: { memoryMiB: 160 },
    });
    await eventually(async () => expect((await collect()).filter((who) => before.has(who))).toEqual([]));
    await api.expect('PUT', `/api/functions/${id}`, { ...definition, resources: { memoryMiB: 160 } });
    await api.functionWhen(id, ({ status }) => status.replicas === 1 && status.ready === true);
    await eventually(async () => expect(new Set(await collect()).size).toBe(1));
    expect(await stop()).toEqual([]);
  }, 40_000);
});

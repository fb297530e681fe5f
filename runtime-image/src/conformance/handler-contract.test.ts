import type { RuntimeFunction, RuntimeSecret } from '@wherry/core/feed/messages.ts';
import { useInstances } from '../testing/use-instances.ts';

// What docs/guides/handlers.md promises the authors of functions, tried on a real process over a real socket.

const { started, stopAll } = useInstances();
afterEach(stopAll);

const json = (body: string): unknown => JSON.parse(body) as unknown;
const KEY = { id: 'key-1', name: 'mobile', groupId: 'group-1', groupName: 'apps' };

describe('the form (c, ctx)', () => {
  it('sees path, url, parameters and query as the caller sent them, without /run', async () => {
    const instance = await started(`export default (c, ctx) => c.json({
      path: c.req.path, url: c.req.url, param: c.req.param('id'), all: c.req.param(), params: ctx.params,
      queries: c.req.queries(), query: ctx.query, method: c.req.method, header: c.req.header('X-Thing') });`);
    const reply = await instance.call({
      path: '/users/7?x=1&y=%20a&x=2',
      headers: { 'X-Thing': 'a', host: 'Api.Example.com:8000' },
      context: { params: { id: '100%41', '*': 'a/b' }, scheme: 'https' },
    });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(json(reply.body)).toEqual({
      path: '/users/7',
      url: 'https://api.example.com:8000/users/7?x=1&y=%20a&x=2',
      // Decoded once, by the router; not again.
      param: '100%41',
      all: { id: '100%41', '*': 'a/b' },
      params: { id: '100%41', '*': 'a/b' },
      queries: { x: ['1', '2'], y: [' a'] },
      query: { x: '2', y: ' a' },
      method: 'GET',
      header: 'a',
    });
  });

  it("has Hono's own ways to answer", async () => {
    const instance = await started(`
      const ways = {
        '/text': (c) => c.text('plain', 201, { 'X-A': '1' }), '/html': (c) => c.html('<p>'),
        '/json': (c) => { c.header('X-B', '2'); c.status(202); return c.json([1]); },
        '/body': (c) => c.body(new Uint8Array([104, 105])), '/redirect': (c) => c.redirect('/there', 303),
        '/missing': (c) => c.notFound(), '/empty': (c) => c.body(null, 204),
        '/later': async (c) => { await null; return new Response('x', { status: 418, statusText: 'Teapot' }); },
        '/static': () => Response.json({ a: 1 }, { status: 203 }), '/real': (c) => fetch('data:text/plain,fetched'),
        '/waits': (c) => { c.executionCtx.waitUntil(Promise.resolve()); return c.text('ok'); },
      };
      export default (c) => ways[c.req.path](c);`);
    const got = async (path: string): Promise<unknown[]> => {
      const { status, headers, body } = await instance.call({ path });
      return [status, headers['content-type'], body];
    };
    expect(await got('/text')).toEqual([201, 'text/plain; charset=UTF-8', 'plain']);
    expect(await got('/html')).toEqual([200, 'text/html; charset=UTF-8', '<p>']);
    expect(await got('/json')).toEqual([202, 'application/json', '[1]']);
    expect((await instance.call({ path: '/json' })).headers['x-b']).toBe('2');
    expect(await got('/body')).toEqual([200, undefined, 'hi']);
    expect((await instance.call({ path: '/redirect' })).headers.location).toBe('/there');
    expect(await got('/missing')).toEqual([404, 'text/plain;charset=UTF-8', '404 Not Found']);
    expect(await got('/empty')).toEqual([204, undefined, '']);
    expect(await got('/later')).toEqual([418, 'text/plain;charset=UTF-8', 'x']);
    expect(await got('/static')).toEqual([203, 'application/json', '{"a":1}']);
    expect(await got('/real')).toEqual([200, 'text/plain', 'fetched']);
    expect(await got('/waits')).toEqual([200, 'text/plain;charset=UTF-8', 'ok']);
  });

  it('gets its function, the call and the key', async () => {
    const fn: Partial<RuntimeFunction> = {
      description: 'Greets',
      keyGroups: ['group-1'],
      route: '/hello/:id',
      methods: ['GET'],
    };
    const instance = await started(
      `export default (c, { route, authenticatedKeyGroup, requestedAt, requestId, remainingTimeMs, signal }) => c.json({ route,
         authenticatedKeyGroup, requestedAt, isDate: requestedAt instanceof Date, requestId, left: remainingTimeMs(), aborted: signal.aborted });`,
      { function: fn },
    );
    const requestedAt = Date.now();
    const reply = await instance.call({ context: { requestId: 'id-9', requestedAt, timeoutMs: 5000, key: KEY } });
    const { left, ...rest } = json(reply.body) as { left: number };
    expect(rest).toEqual({
      route: {
        name: 'Hello',
        description: 'Greets',
        handler: 'my-api/hello.ts',
        route: '/hello/:id',
        methods: ['GET'],
        keys: ['group-1'],
      },
      authenticatedKeyGroup: 'apps',
      requestedAt: new Date(requestedAt).toISOString(),
      isDate: true,
      requestId: 'id-9',
      aborted: false,
    });
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(5000);
    expect(json((await instance.call()).body)).not.toHaveProperty('authenticatedKeyGroup');
  });
});

describe('the form { fetch }', () => {
  it('gets a web Request, the secrets as env, and ctx', async () => {
    const secrets: RuntimeSecret[] = [{ name: 'TOKEN', value: 's3cret', scope: 'global', owner: null }];
    const instance = await started(
      `export default { async fetch(request, env, ctx) {
         const copy = new Request(request, { headers: { 'x-new': '1' } });
         const head = new Headers(request.headers);
         return Response.json({ is: request instanceof Request, isHeaders: request.headers instanceof Headers, url: request.url, method: request.method, body: await copy.json(),
           moved: [copy.headers.get('x-new'), head.get('x-thing')], names: Object.keys(env), token: env.TOKEN, none: env.NONE, id: ctx.requestId,
           readOnly: Reflect.set(env, 'X', '1'), secret: await ctx.getSecret('TOKEN') });
       } };`,
      { secrets },
    );
    const reply = await instance.call({
      method: 'POST',
      path: '/a?b',
      body: '{"n":1}',
      headers: { 'x-thing': 'yes', 'content-type': 'application/json' },
    });
    expect(json(reply.body)).toEqual({
      is: true,
      isHeaders: true,
      url: 'http://api.example.com/a?b',
      method: 'POST',
      body: { n: 1 },
      moved: ['1', 'yes'],
      names: ['TOKEN'],
      token: 's3cret',
      id: 'r-1',
      readOnly: false,
      secret: 's3cret',
    });
  });

  it('keeps its receiver, and never sees what the router and the runtime say to each other', async () => {
    const instance = await started(
      `class App { greeting = 'hi'; fetch(request) {
         return Response.json({ text: this.greeting, names: [...request.headers.keys()], token: request.headers.get('x-wherry-token'), has: request.headers.has('X-Wherry-Context'),
           real: [...request.clone().headers.keys()] }); } }
       export default new App();`,
    );
    expect(json((await instance.call()).body)).toEqual({
      text: 'hi',
      names: ['host'],
      token: null,
      has: false,
      real: ['host'],
    });
  });
});

describe('the request body', () => {
  it.each(['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData', 'body'])('is read as %s', async (way) => {
    const instance = await started(`
      const read = { text: (r) => r.text(), json: (r) => r.json().then(JSON.stringify), arrayBuffer: (r) => r.arrayBuffer().then((b) => Buffer.from(b).toString()),
        bytes: (r) => r.bytes().then((b) => Buffer.from(b).toString()), blob: (r) => r.blob().then((b) => b.text()), formData: (r) => r.formData().then((f) => f.get('a')),
        body: async (r) => { let text = ''; for await (const part of r.body) text += Buffer.from(part).toString(); return text; } };
      export default { async fetch(request) {
        const text = await read['${way}'](request);
        return Response.json({ text, used: request.bodyUsed, again: await request.text().catch((error) => error.name) });
      } };`);
    const form = way === 'formData';
    const reply = await instance.call({
      method: 'POST',
      body: form ? 'a=%7B%7D' : '{}',
      headers: {
        'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
        'content-length': form ? 8 : 2,
      },
    });
    expect(json(reply.body)).toEqual({ text: '{}', used: true, again: 'TypeError' });
  });

  it('may be absent, and the connection stays usable when it is not read', async () => {
    const instance = await started(
      `export default (c) => c.req.path === '/read' ? c.req.text().then((t) => c.json({ t, body: c.req.raw.body })) : c.text('unread');`,
    );
    expect(json((await instance.call({ method: 'POST', path: '/read' })).body)).toEqual({ t: '', body: null });
    const big = Buffer.alloc(5_000_000, 120);
    expect((await instance.call({ method: 'POST', body: big })).body).toBe('unread');
  });
});

describe('secrets', () => {
  const secrets: RuntimeSecret[] = [
    { name: 'A', value: 'global-a', scope: 'global', owner: null },
    { name: 'A', value: 'group-a', scope: 'group', owner: 'group-1' },
    { name: 'A', value: 'other-a', scope: 'group', owner: 'group-2' },
    { name: 'A', value: 'key-a', scope: 'key', owner: 'key-1' },
    { name: 'K', value: 'key-k', scope: 'key', owner: 'key-2' },
  ];
  const handler = `export default async (c, ctx) => c.json({ a: await ctx.getSecret('A'), g: await ctx.getSecret('A', 'global'), k: await ctx.getSecret('K'), all: await ctx.getCompleteSecret('A') });`;

  it('S5: are those of the key that was presented and of its group', async () => {
    const instance = await started(handler, { secrets });
    const group = { value: 'group-a', groupId: 'group-1', groupName: 'apps' };
    expect(json((await instance.call({ context: { key: KEY } })).body)).toEqual({
      a: 'key-a',
      g: 'global-a',
      all: { global: 'global-a', group, key: { ...group, value: 'key-a', keyId: 'key-1', keyName: 'mobile' } },
    });
    expect(json((await instance.call()).body)).toEqual({ a: 'global-a', g: 'global-a', all: { global: 'global-a' } });
  });

  it('have their new value in the next call after the feed sent it', async () => {
    const instance = await started(handler, { secrets });
    const changed = [{ name: 'A', value: 'new', scope: 'global' as const, owner: null }];
    instance.send({ type: 'state', state: { ...instance.state, secrets: changed } });
    instance.send({ type: 'heartbeat' });
    await instance.until(() => instance.ups.some((up) => up.type === 'alive'));
    expect(json((await instance.call()).body)).toMatchObject({ a: 'new' });
  });
});

describe('HEAD', () => {
  it('is answered through GET where only GET is listed, and never has a body', async () => {
    const handler = `export default (c) => c.json({ method: c.req.method }, 200, { 'X-Method': c.req.method });`;
    const through = await (await started(handler, { function: { methods: ['GET'] } })).call({ method: 'HEAD' });
    expect([through.headers['x-method'], through.headers['content-length'], through.body]).toEqual(['GET', '16', '']);
    const own = await (await started(handler, { function: { methods: ['GET', 'HEAD'] } })).call({ method: 'HEAD' });
    expect([own.headers['x-method'], own.body]).toEqual(['HEAD', '']);
  });

  it('lets an endless stream go, and keeps its length', async () => {
    const instance = await started(
      `export default () => new Response(new ReadableStream({ pull(s) { s.enqueue(new Uint8Array(9)); }, cancel() { console.log('let go'); } }), { headers: { 'content-length': '123' } })`,
    );
    const reply = await instance.call({ method: 'HEAD' });
    expect([reply.status, reply.headers['content-length'], reply.body]).toEqual([200, '123', '']);
    await instance.until(() => instance.logs.length > 0);
    expect(instance.logs[0]?.message).toBe('let go');
  });
});

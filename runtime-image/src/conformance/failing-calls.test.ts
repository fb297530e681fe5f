import { CONTEXT_HEADER } from '@wherry/core/feed/invocation.ts';
import { TOKEN } from '../testing/start-instance.ts';
import { useInstances } from '../testing/use-instances.ts';

const { started, stopAll } = useInstances();
afterEach(stopAll);

const json = (body: string): unknown => JSON.parse(body) as unknown;

describe('S2: a call without the invocation token', () => {
  it.each([null, '', 'wrong-token-0000', TOKEN.toUpperCase(), `${TOKEN}x`])(
    '%p is answered 401, and reaches no code',
    async (token) => {
      const instance = await started(`export default (c) => { console.log('reached'); return c.text('in'); }`);
      const reply = await instance.call({ token });
      expect(reply.status).toBe(401);
      expect(json(reply.body)).toEqual({ error: expect.any(String), code: 'unauthorized', requestId: '' });
      expect((await instance.call()).body).toBe('in');
      await instance.until(() => instance.logs.length > 0);
      expect(instance.logs).toHaveLength(1);
    },
  );
});

describe('a call without the context that the router gives', () => {
  it.each([{}, { [CONTEXT_HEADER]: 'bm8gSlNPTg' }])('is answered 400, and not run: %j', async (headers) => {
    const instance = await started(`export default (c) => c.text('in');`);
    const reply = await instance.call({ context: null, headers });
    expect([reply.status, json(reply.body)]).toMatchObject([400, { code: 'bad_context' }]);
  });
});

describe('a call for which there is no slot', () => {
  it('is answered 429 and not run, whoever sent those that run; a slot is free when its caller has its answer or left', async () => {
    const instance = await started(`
      export default async (c, ctx) => {
        if (c.req.path === '/later') { ctx.waitUntil(new Promise(() => {})); return c.text('answered'); }
        if (c.req.path === '/hold') { console.log('held'); await new Promise(() => {}); }
        return c.text('in');
      };`);
    const call = (path: string, slots?: number): ReturnType<typeof instance.call> =>
      instance.call({ path, context: slots === undefined ? {} : { slots } });
    expect((await call('/later', 1)).body).toBe('answered');
    const held = instance.begin({ path: '/hold', context: { slots: 1, timeoutMs: 60_000 } });
    held.on('error', () => undefined).end();
    await instance.until(() => instance.logs.length === 1);
    const full = await call('/in', 1);
    expect([full.status, full.headers['x-wherry-outcome'], json(full.body)]).toMatchObject([
      429,
      'full',
      { code: 'over_capacity' },
    ]);
    expect([(await call('/in', 2)).body, (await call('/in')).body]).toEqual(['in', 'in']);
    held.destroy();
    while ((await call('/in', 1)).status === 429) expect(held.destroyed).toBe(true);
    for (let n = 0; n < 20; n += 1) expect((await call('/in', 1)).status).toBe(200);
  });
});

describe('a handler that fails', () => {
  const ways: [string, string, RegExp][] = [
    ['throws', `throw new TypeError('secret detail')`, /TypeError: secret detail/],
    ['rejects', `return Promise.reject(new TypeError('secret detail'))`, /TypeError: secret detail/],
    ['throws no error', `throw 'secret detail'`, /secret detail/],
    ['returns nothing', ``, /must return a Response .* but returned undefined/],
    ['returns a text', `return 'hi'`, /but returned a string/],
    ['returns an object', `return { status: 200 }`, /but returned an object/],
    [
      'sets a header with a line break',
      `return new Response('x', { headers: { 'x-a': 'b\\r\\nx-c: d' } })`,
      /invalid header value/,
    ],
    ['sets a bad name of a header', `return new Response('x', { headers: { 'a b': 'c' } })`, /a b/],
    ['answers with a bad status', `return new Response('x', { status: 99 })`, /status/],
    [
      'returns a body that was read',
      `const r = new Response(new ReadableStream({ start(s) { s.close(); } })); return r.text().then(() => r)`,
      /already been read/,
    ],
  ];

  it.each(ways)('%s: 500 handler_error, the message hidden, and logged', async (_what, code, message) => {
    const instance = await started(
      `export default (c) => { if (c.req.path === '/ok') return c.text('fine'); ${code} };`,
    );
    const reply = await instance.call({ context: { requestId: 'r-7' } });
    expect(reply.status).toBe(500);
    expect(reply.headers['x-wherry-outcome']).toBe('error');
    expect(json(reply.body)).toEqual({ error: 'The function failed.', code: 'handler_error', requestId: 'r-7' });
    await instance.until(() => instance.logs.length > 0);
    expect(instance.logs).toMatchObject([
      { level: 'error', requestId: 'r-7', message: expect.stringMatching(message) },
    ]);
    expect((await instance.call({ path: '/ok' })).body).toBe('fine');
  });

  it('shows its message where the function is being debugged', async () => {
    const instance = await started(`export default () => { throw new TypeError('the detail'); }`, {
      function: { debug: true },
    });
    expect(json((await instance.call()).body)).toMatchObject({ error: 'The function failed: TypeError: the detail' });
  });
});

describe("what a handler's answer cannot do", () => {
  it('say how the connection is used, or how the call ended', async () => {
    const instance = await started(`export default () => new Response('hello', { headers: [
      ['Connection', 'close'], ['Transfer-Encoding', 'chunked'], ['Upgrade', 'x'], ['X-Wherry-Outcome', 'timeout'], ['Content-Length', '2'],
      ['Set-Cookie', 'a=1'], ['Set-Cookie', 'b=2'], ['X-Own', 'yes']] })`);
    const { headers, body } = await instance.call();
    expect(body).toBe('hello');
    expect(headers).toMatchObject({
      'content-length': '5',
      'set-cookie': ['a=1', 'b=2'],
      'x-own': 'yes',
      connection: 'keep-alive',
    });
    expect(headers).not.toHaveProperty('x-wherry-outcome');
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  it('keep cookies of a Headers apart, or share one between answers', async () => {
    const instance = await started(`const shared = new Headers({ 'x-a': '1' });
      export default () => { const r = new Response('x', { headers: shared }); r.headers.append('set-cookie', 'a=1'); r.headers.append('set-cookie', 'b=2'); return r; }`);
    await instance.call();
    expect((await instance.call()).headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });

  it('lie about the length of a stream', async () => {
    const instance = await started(
      `export default (c) => new Response(new ReadableStream({ start(s) { s.enqueue(new Uint8Array(20)); s.close(); } }), { headers: { 'content-length': '10' } })`,
    );
    await expect(instance.call()).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });
});

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * What a handler may be and what it is given, through the whole service: both forms, streams, ctx, limits, and the
 * error of each way in which a handler can be wrong.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Each behaviour as the body of both forms: `request`, `ctx`, and `json` to answer with. */
const FORMS = {
  '(c, ctx)': (body: string): string => `
    const json = (value) => Response.json(value);
    export default async (c, ctx) => { const request = c.req.raw; ${body} };`,
  '{ fetch(request, env, ctx) }': (body: string): string => `
    const json = (value) => Response.json(value);
    export default { async fetch(request, env, ctx) { ${body} } };`,
} as const;

const BEHAVIOURS = {
  show: `
    const { route, params, query, authenticatedKeyGroup, requestedAt, requestId } = ctx;
    return json({
      route, params, query, requestId, group: authenticatedKeyGroup ?? null, age: Date.now() - requestedAt.getTime(),
      isDate: requestedAt instanceof Date, remaining: ctx.remainingTimeMs(), aborted: ctx.signal.aborted,
      secret: (await ctx.getSecret('nothing')) ?? null, whole: (await ctx.getCompleteSecret('nothing')) ?? null,
      waitUntil: typeof ctx.waitUntil, path: new URL(request.url).pathname, search: new URL(request.url).search, method: request.method,
    });`,
  echo: `return new Response(request.body, { status: 201, headers: { 'x-form': 'echo', 'content-type': 'application/octet-stream' } });`,
  drip: `
    const state = (globalThis.state ??= {});
    if (request.method === 'POST') { state.controller.enqueue(new TextEncoder().encode(await request.text())); return json(null); }
    return new Response(new ReadableStream({ start: (controller) => { state.controller = controller; } }), { headers: { 'content-type': 'text/event-stream' } });`,
  wait: `
    const state = (globalThis.state ??= { running: 0, aborted: 0 });
    if (ctx.params['*'] === 'seen') return json(state);
    state.running += 1;
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }));
    state.running -= 1;
    state.aborted += 1;
    return json(state);`,
};

/** The router's clock has a fraction, the handler's has none. */
const CLOCKS_DIFFER_MS = 20;

/** With `hold`, its answer begins at once and goes on until its caller leaves. */
const HOLD = `
  const held = (signal) => new ReadableStream({ start(controller) {
    controller.enqueue(new TextEncoder().encode('held'));
    signal.addEventListener('abort', () => controller.close());
  } });
  export default (c, ctx) => (ctx.params['*'] === 'hold' ? new Response(held(ctx.signal)) : c.text('seen'));`;

/** Reports how many calls there were at once at most. */
const PEAK = `
let [now, peak] = [0, 0];
export default async (c) => {
  peak = Math.max(peak, ++now);
  // Those that came first wait for the third, so that all of them are there at once; then there is time for a fourth.
  while (peak < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 100));
  now -= 1;
  return c.json(peak);
};`;

let platform: Platform;
let api: ApiClient;

const run = (path: string, init?: RequestInit): Promise<Answer> => send(`${platform.functionUrl}/run${path}`, init);

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
}, 60_000);

afterAll(() => platform?.dispose(), 30_000);

/** A call whose body is written bit by bit while its answer is read. */
function open(path: string, method: string): { request: ClientRequest; answer: Promise<IncomingMessage> } {
  const request = httpRequest(`${platform.functionUrl}/run${path}`, { method });
  const answer = once(request, 'response').then(([response]) => response as IncomingMessage);
  answer.catch(() => undefined);
  request.on('error', () => undefined);
  return { request, answer };
}

async function nextChunk(answer: IncomingMessage): Promise<string> {
  for (;;) {
    const chunk = answer.read() as Buffer | null;
    if (chunk !== null) return chunk.toString();
    await once(answer, 'readable');
  }
}

describe.each(Object.entries(FORMS))('a handler of the form %s', (name, form) => {
  const at = name.startsWith('(') ? '/c' : '/fetch';
  const source = name.startsWith('(') ? 'c-form' : 'fetch-form';

  beforeAll(async () => {
    const files = Object.entries(BEHAVIOURS).map(([file, body]) => [`${file}.ts`, form(body)]);
    await api.source(source, Object.fromEntries(files) as Record<string, string>);
    const functions = [
      {
        name: 'show',
        description: 'shows',
        handler: `${source}/show.ts`,
        route: `${at}/show/:id/:rest`,
        methods: ['GET', 'PATCH'],
      },
      { name: 'echo', handler: `${source}/echo.ts`, route: `${at}/echo`, methods: ['POST'] },
      { name: 'drip', handler: `${source}/drip.ts`, route: `${at}/drip`, methods: ['GET', 'POST'] },
      { name: 'wait', handler: `${source}/wait.ts`, route: `${at}/wait/*` },
      { name: 'late', handler: `${source}/wait.ts`, route: `${at}/late/*`, timeoutSeconds: 1 },
    ];
    await Promise.all(functions.map((definition) => api.readyFunction(definition)));
  }, 60_000);

  it('sees path, parameters, query, method and every member of ctx', async () => {
    const before = Date.now();
    const answer = await run(`${at}/show/a%20b/%C3%A9?x=1&x=2&y=%26`, { method: 'PATCH' });
    const took = Date.now() - before + CLOCKS_DIFFER_MS;
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      route: {
        name: 'show',
        description: 'shows',
        handler: `${source}/show.ts`,
        route: `${at}/show/:id/:rest`,
        methods: ['GET', 'PATCH'],
      },
      params: { id: 'a b', rest: 'é' },
      query: { x: '2', y: '&' },
      path: `${at}/show/a%20b/%C3%A9`,
      search: '?x=1&x=2&y=%26',
      method: 'PATCH',
      group: null,
      isDate: true,
      aborted: false,
      secret: null,
      whole: null,
      waitUntil: 'function',
    });
    expect(answer.body.requestId).toMatch(UUID);
    expect(answer.headers.get('x-request-id')).toBe(answer.body.requestId);
    expect(answer.body.age).toBeGreaterThanOrEqual(-CLOCKS_DIFFER_MS);
    expect(answer.body.age).toBeLessThanOrEqual(took);
    expect(answer.body.remaining).toBeGreaterThanOrEqual(30_000 - took);
    expect(answer.body.remaining).toBeLessThanOrEqual(30_000);
  });

  it('answers HEAD as GET, without the body', async () => {
    const answer = await run(`${at}/show/1/2`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.text).toBe('');
  });

  it('streams 5 MB up and down, byte for byte', async () => {
    const bytes = randomBytes(5_000_000);
    const response = await fetch(`${platform.functionUrl}/run${at}/echo`, { method: 'POST', body: bytes });
    const echoed = Buffer.from(await response.arrayBuffer());
    expect(response.status).toBe(201);
    expect(response.headers.get('x-form')).toBe('echo');
    expect(createHash('sha256').update(echoed).digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  it('gives each part of a request body on before the next one is sent', async () => {
    const { request, answer } = open(`${at}/echo`, 'POST');
    const received: string[] = [];
    for (const part of ['one', 'two', 'three']) {
      request.write(part);
      received.push(await nextChunk(await answer));
    }
    request.end();
    expect(received).toEqual(['one', 'two', 'three']);
  });

  it('sends each part of an answer before the next one is there', async () => {
    const { request, answer } = open(`${at}/drip`, 'GET');
    request.end();
    const stream = await answer;
    expect(stream.headers['content-type']).toBe('text/event-stream');
    for (const part of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
      expect((await run(`${at}/drip`, { method: 'POST', body: part })).status).toBe(200);
      expect(await nextChunk(stream)).toBe(part);
    }
    request.destroy();
  });

  it('learns by ctx.signal that its caller went away', async () => {
    const caller = new AbortController();
    const call = run(`${at}/wait/here`, { signal: caller.signal });
    call.catch(() => undefined);
    await eventually(async () => expect((await run(`${at}/wait/seen`)).body.running).toBe(1));
    caller.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await eventually(async () => expect((await run(`${at}/wait/seen`)).body).toEqual({ running: 0, aborted: 1 }));
  });

  it('is cut off at its timeout with 504, and notified by ctx.signal', async () => {
    const [before, wallBefore] = [machineTime(), performance.now()];
    const answer = await run(`${at}/late/here`);
    const [took, wallTook] = [machineTime() - before, performance.now() - wallBefore];
    expect([answer.status, answer.body.code]).toEqual([504, 'timeout']);
    expect(wallTook).toBeGreaterThan(900);
    expect(took).toBeLessThan(3000);
    await eventually(async () => expect((await run(`${at}/late/seen`)).body).toEqual({ running: 0, aborted: 1 }));
  });
});

describe('limits of a function', () => {
  beforeAll(async () => {
    await api.source('limits', {
      'length.ts': 'export default async (c) => c.json((await c.req.text()).length);',
      'hold.ts': HOLD,
      'peak.ts': PEAK,
    });
    await Promise.all([
      api.readyFunction({ name: 'three at once', handler: 'limits/peak.ts', route: '/three', maxConcurrency: 3 }),
      api.readyFunction({
        name: 'small',
        handler: 'limits/length.ts',
        route: '/small',
        methods: ['POST'],
        maxRequestBytes: 1000,
      }),
      api.readyFunction({ name: 'one at once', handler: 'limits/hold.ts', route: '/one/*', maxConcurrency: 1 }),
    ]);
  }, 60_000);

  const chunked = (length: number): RequestInit => ({
    body: new Blob(['x'.repeat(length)]).stream(),
    duplex: 'half',
  });

  it.each([
    [200, 'as long as allowed, with its length', { body: 'x'.repeat(1000) }],
    [200, 'as long as allowed, chunked', chunked(1000)],
    [413, 'over maxRequestBytes, with its length', { body: 'x'.repeat(1001) }],
    [413, 'over maxRequestBytes, chunked', chunked(1001)],
  ])('answers %s to a body %s', async (status, _body, init) => {
    const answer = await run('/small', { method: 'POST', ...init });
    expect(answer.status).toBe(status);
    expect(status === 413 ? answer.body.requestId : answer.body).toEqual(
      status === 413 ? expect.stringMatching(UUID) : 1000,
    );
  });

  it('calls over maxConcurrency answer 429 with Retry-After, and are served again afterwards', async () => {
    const caller = new AbortController();
    const { body } = await fetch(`${platform.functionUrl}/run/one/hold`, { signal: caller.signal });
    await body!.getReader().read();
    const refused = await eventually(async () => {
      const answer = await run('/one/seen');
      expect(answer.status).toBe(429);
      return answer;
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    caller.abort();
    await eventually(async () => expect((await run('/one/seen')).status).toBe(200));
  });

  it('three calls at once are what forty that come together are, whichever way they come', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => run('/three')));
    const statuses = new Set(answers.map(({ status }) => status));
    expect([200, 429]).toEqual(expect.arrayContaining([...statuses]));
    const { body } = await eventually(async () => {
      const last = await run('/three');
      expect(last.status).toBe(200);
      return last;
    });
    expect(body).toBe(3);
  });
});

describe('a handler that is wrong', () => {
  it.each([
    ['is not there', undefined, 404, 'handler_not_found', /no file file\.ts/],
    [
      'does not parse',
      'export default (c) => c.text(`unfinished);',
      500,
      'handler_syntax_error',
      /wrong\/file\.ts:1:\d+/,
    ],
    ['exports nothing', 'export const handler = (c) => c.text("x");', 500, 'handler_export_error', /export/],
    ['exports a number', 'export default 42;', 500, 'handler_export_error', /export/],
    [
      'throws while it is loaded',
      'throw new Error("not today"); export default (c) => c.text("x");',
      500,
      'handler_load_error',
      /not today/,
    ],
    [
      'imports what is not there',
      'import { x } from "./missing.ts"; export default (c) => c.text(x);',
      500,
      'handler_load_error',
      /missing/,
    ],
  ])('one that %s answers its own code, and the status says why', async (...row) => {
    const [what, content, status, code, message] = row;
    const slug = `wrong-${what.replaceAll(' ', '-')}`;
    await api.source(slug, content === undefined ? {} : { 'file.ts': content });
    const id = await api.function({ name: slug, handler: `${slug}/file.ts`, route: `/${slug}` });
    const answer = await eventually(async () => {
      const first = await run(`/${slug}`);
      expect([first.status, first.body.code]).toEqual([status, code]);
      return first;
    });
    expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'));
    const { status: failed } = await api.functionWhen(id, (fn) => fn.status.ready === false && fn.status.message);
    expect(failed.message).toMatch(new RegExp(message.source.replace('wrong', slug)));
  });

  it.each([
    ['hides the message', false],
    ['shows the message while debug is on', true],
  ])('one that throws answers 500 handler_error and %s', async (_what, debug) => {
    const slug = `throws-${debug}`;
    await api.source(slug, { 'file.ts': 'export default () => { throw new Error("the inner reason"); };' });
    await api.readyFunction({ name: slug, handler: `${slug}/file.ts`, route: `/${slug}`, debug });
    const answer = await run(`/${slug}`);
    expect([answer.status, answer.body.code]).toEqual([500, 'handler_error']);
    expect(answer.text.includes('the inner reason')).toBe(debug);
    expect(answer.headers.get('x-wherry-outcome')).toBeNull();
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ApiClient, send, type Answer } from '../testing/api-client.ts';
import type { Service } from '../testing/embedded-service.ts';
import { startPackageService } from './package-service.ts';

/*
 * Apps of web-standard frameworks as default exports: they see the function's route in their paths, and do what they do
 * elsewhere: routes, middleware, validation, pages, streams, errors.
 */

const FIXTURES = path.join(import.meta.dirname, 'fixtures/frameworks');
const METHODS = ['GET', 'POST', 'DELETE'];
const ITEMS = [
  { id: 'tea', price: 3 },
  { id: 'mug', price: 9 },
];

let service: Service;

const run = (route: string, init?: RequestInit): Promise<Answer> => send(`${service.functionUrl}/run${route}`, init);
const post = (body: unknown): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

const FUNCTIONS = {
  'hono.tsx': '/shop/*',
  'base-path.ts': '/based/*',
  'itty-router.ts': '/itty/*',
  'h3.ts': '/h3/*',
  'elysia.ts': '/elysia/*',
  'workers-style.ts': '/workers/*',
};

beforeAll(async () => {
  service = await startPackageService();
  const api = new ApiClient(service.managementUrl, service.managementKey!);
  const files = readdirSync(FIXTURES).map((name) => [name, readFileSync(path.join(FIXTURES, name), 'utf8')] as const);
  await api.source('frameworks', Object.fromEntries(files));
  const ids: string[] = [];
  for (const [file, route] of Object.entries(FUNCTIONS))
    ids.push(await api.function({ name: file, handler: `frameworks/${file}`, route, methods: METHODS }));
  for (const id of ids) await api.functionWhen(id, ({ status }) => status.ready === true, 300_000);
}, 360_000);

afterAll(() => service?.dispose(), 30_000);

describe('a Hono app on /shop/*', () => {
  it('answers its own routes, with parameters', async () => {
    expect((await run('/shop/items')).body).toEqual(ITEMS);
    expect((await run('/shop/items/mug')).body).toEqual(ITEMS[1]);
  });

  it('runs its middleware around each answer', async () => {
    expect((await run('/shop/items')).headers.get('x-shop')).toBe('/shop/items');
    expect((await run('/shop/admin/sales')).status).toBe(401);
    const answer = await run('/shop/admin/sales', { headers: { authorization: 'Bearer open-sesame' } });
    expect([answer.status, answer.text]).toEqual([200, '12']);
  });

  it('validates bodies with @hono/zod-validator', async () => {
    const good = await run('/shop/items', post({ id: 'pot', price: 20 }));
    expect([good.status, good.body]).toEqual([201, { id: 'pot', price: 20 }]);
    const bad = await run('/shop/items', post({ id: 'pot', price: -1 }));
    expect([bad.status, bad.body.success]).toEqual([400, false]);
  });

  it('renders JSX without a setting for it', async () => {
    const answer = await run('/shop/page');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=UTF-8');
    expect(answer.text).toBe('<html><body><h1>Tea &amp; more</h1><li>tea</li><li>mug</li></body></html>');
  });

  it('streams server-sent events', async () => {
    const answer = await run('/shop/events');
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.text).toBe('event: item\ndata: sold tea\nid: tea\n\nevent: item\ndata: sold mug\nid: mug\n\n');
  });

  it('streams a body whose beginning is seen before its end is there', async () => {
    const response = await fetch(`${service.functionUrl}/run/shop/slow/a`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('first ');
    expect((await run('/shop/slow/a', { method: 'POST' })).status).toBe(204);
    expect((await reader.read()).value).toBe('second');
    expect((await reader.read()).done).toBe(true);
  });

  it.each([
    ['an exception of HTTP', '/shop/items/cup', 404, 'no such item'],
    ['its error handler', '/shop/broken', 503, '{"problem":"out of tea"}'],
    ['its notFound handler', '/shop/nothing', 404, '{"problem":"nothing here","path":"/shop/nothing"}'],
  ])('answers with %s', async (_what, route, status, text) => {
    const answer = await run(route);
    expect([answer.status, answer.text]).toEqual([status, text]);
  });
});

it('a Hono app with a base path, from a range in its specifier, answers below it', async () => {
  expect((await run('/based/items/7')).text).toBe('7');
});

it('a Workers-style object around a router is given the context', async () => {
  expect((await run('/workers/items')).body).toEqual({ route: '/workers/*', hasSecrets: 'function' });
});

describe.each([
  ['itty-router', '/itty'],
  ['h3', '/h3'],
  ['Elysia', '/elysia'],
])('%s as default export', (_name, base) => {
  it('answers lists and parameters', async () => {
    expect((await run(`${base}/items`)).body).toEqual(ITEMS);
    expect((await run(`${base}/items/tea`)).body).toEqual(ITEMS[0]);
  });

  it('answers its own errors', async () => {
    const answer = await run(`${base}/items/cup`);
    expect(answer.status).toBe(404);
    expect(answer.text).toContain('no such item');
  });

  it('reads bodies', async () => {
    expect((await run(`${base}/items`, post({ id: 'pot' }))).body).toEqual({ got: { id: 'pot' } });
  });
});

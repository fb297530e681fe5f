import { createHmac } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startDatabase, type Database } from '../examples/database.ts';
import { Example, type Target } from '../examples/example.ts';
import { Upstream } from '../examples/upstream.ts';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import type { Service } from '../testing/embedded-service.ts';
import { startPackageService } from '../package-matrix/package-service.ts';

/*
 * The examples as a reader follows them: the commands of each README, in its folder, against one service, and what it
 * says they print.
 */

const EXAMPLES = path.join(import.meta.dirname, '../../examples');
/** Has a guide in place of commands, and a suite of its own on a cluster. */
const GITOPS = 'gitops';
const names = readdirSync(EXAMPLES).filter(
  (name) => name !== GITOPS && existsSync(path.join(EXAMPLES, name, 'README.md')),
);

const LLM_KEY = 'sk-of-the-upstream';
const upstream = new Upstream();
const deployed = new Map<string, Promise<void>>();
let folder: string;
let database: Database;
let examples: Example[] = [];
let service: Service;
let api: ApiClient;
let target: Target;

beforeAll(async () => {
  const [llmUrl] = await Promise.all([upstream.start(), startDatabase().then((started) => (database = started))]);
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-examples-'));
  cpSync(EXAMPLES, folder, { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  const environment = { PATH, HOME, DATABASE_URL: database.url, LLM_URL: llmUrl, LLM_KEY };
  examples = names.map((name) => new Example(path.join(folder, name), environment));
  await Promise.all(examples.map((example) => example.prepare(psql)));
  service = await startPackageService();
  const key = service.managementKey ?? '';
  api = new ApiClient(service.managementUrl, key);
  const host = (url: string): string => url.replace('http://', '');
  target = { functions: host(service.functionUrl), management: host(service.managementUrl), key };
  for (const example of examples) deployed.set(example.name, deploy(example));
  await Promise.allSettled(deployed.values());
}, 180_000);

afterAll(async () => {
  for (const example of examples) example.close();
  await service?.dispose();
  await Promise.all([database?.stop(), upstream.stop()]);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}, 30_000);

async function psql([url, flag, file = '']: string[], from: string): Promise<void> {
  expect([url, flag]).toEqual([database.url, '-f']);
  await database.run(readFileSync(path.join(from, file), 'utf8'));
}

async function deploy(example: Example): Promise<void> {
  await example.deploy(target);
  await eventually(async () => {
    const { functions } = (await api.expect('GET', '/api/functions')).body as {
      functions: { handler: string; status: { ready: boolean } }[];
    };
    const own = functions.filter(({ handler }) => handler.startsWith(`${example.name}/`));
    expect(own.map(({ status }) => status)).toEqual([expect.objectContaining({ ready: true })]);
  }, 90_000);
}

const run = (route: string, init?: RequestInit): Promise<Answer> => send(`${service.functionUrl}/run${route}`, init);
const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({ method: 'POST', body, headers });

/** The body of a stream so far, read event by event. */
async function* eventsOf(response: Response): AsyncGenerator<string> {
  let unread = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const [...events] = (unread + chunk).split('\n\n');
    unread = events.pop()!;
    yield* events;
  }
}

describe('the examples', () => {
  it('are all in the list of examples/README.md, and no others', () => {
    const page = readFileSync(path.join(EXAMPLES, 'README.md'), 'utf8');
    const listed = [...page.matchAll(/^\| \[([\w-]+)\]\(\1\) \|/gm)].map(([, name]) => name);
    expect(listed.toSorted()).toEqual([...names, GITOPS].toSorted());
  });

  it.each(names)(
    '%s does what its README says',
    async (name) => {
      await deployed.get(name);
      const compared = await examples.find((example) => example.name === name)!.use(target);
      expect(compared.length).toBeGreaterThan(0);
      for (const { command, promised, printed } of compared)
        expect({ command, printed }).toEqual({ command, printed: promised });
    },
    60_000,
  );
});

describe('json-api', () => {
  it('answers 400 to a body that is not JSON', async () => {
    expect((await run('/quotes', post('{'))).status).toBe(400);
  });
});

describe('form', () => {
  it('shows the form, and again with the problem when a field is missing', async () => {
    const form = await run('/signup');
    expect([form.status, form.text]).toEqual([200, expect.stringContaining('<form method="post">')]);
    const incomplete = await run('/signup', { method: 'POST', body: new URLSearchParams({ name: 'Ada' }) });
    expect([incomplete.status, incomplete.text]).toEqual([
      400,
      expect.stringContaining('Please enter an email address.'),
    ]);
  });
});

describe('hono-app', () => {
  it('runs its middleware', async () => {
    expect((await run('/shop/items')).headers.get('cache-control')).toBe('max-age=60');
  });
});

describe('streaming', () => {
  it('sends the first event long before the last one, and stops when the caller leaves', async () => {
    const response = await fetch(`${service.functionUrl}/run/countdown/100`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    // Leaving the loop cancels the request.
    for await (const event of eventsOf(response)) {
      expect(event).toBe('event: tick\ndata: 100');
      break;
    }
    await eventually(async () => {
      expect((await api.expect('GET', '/api/logs?limit=100')).text).toContain('The caller left at ');
    });
  });

  it('answers 400 where there is nothing to count', async () => {
    expect((await run('/countdown/many')).status).toBe(400);
  });
});

describe('webhook', () => {
  it.each([
    ['no signature', undefined],
    ['a short one', 'sha256=00'],
    ['one of another secret', `sha256=${createHmac('sha256', 'another').update('{}').digest('hex')}`],
  ])('rejects a body with %s', async (_what, signature) => {
    const answer = await run(
      '/webhooks/github',
      post('{}', signature === undefined ? {} : { 'x-hub-signature-256': signature }),
    );
    expect([answer.status, answer.body]).toEqual([401, { error: 'The signature is missing or wrong.' }]);
  });

  it('says so where its secret is not set', async () => {
    await api.readyFunction({
      name: 'unset',
      handler: 'webhook/webhook.ts',
      route: '/webhooks/unset',
      methods: ['POST'],
    });
    const answer = await run('/webhooks/unset', post('{}'));
    expect([answer.status, answer.body]).toEqual([503, { error: 'The secret WEBHOOK_SECRET is not set.' }]);
  });
});

describe('database', () => {
  const headers = { 'x-api-key': 'a-key-that-grace-knows', 'content-type': 'application/json' };

  it('is for those with a key, and takes every text as a text', async () => {
    expect((await run('/customers/ada')).status).toBe(401);
    const name = `'); drop table customers; --`;
    const put = await run('/customers/bobby', { method: 'PUT', body: JSON.stringify({ name }), headers });
    expect([put.status, put.body]).toEqual([200, { id: 'bobby', name }]);
    expect((await run('/customers/bobby', { headers })).body).toEqual({ id: 'bobby', name });
  });

  it('answers 400 where the name is missing', async () => {
    expect((await run('/customers/eve', { method: 'PUT', body: '{}', headers })).status).toBe(400);
  });
});

describe('scheduled-job', () => {
  const job = (month: string): Promise<Answer> =>
    run(`/jobs/invoices/${month}`, post('', { 'x-api-key': 'a-key-for-the-scheduler' }));

  it('creates each invoice once, however many calls come at once', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => job('2026-11')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.reduce((sum, { body }) => sum + (body.created as number), 0)).toBe(1);
  });

  it('answers 400 to what is no month', async () => {
    expect((await job('2026-13')).status).toBe(400);
  });
});

describe('llm-proxy', () => {
  const chat = (model: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${service.functionUrl}/run/llm/v1/chat/completions`, {
      ...post(JSON.stringify({ model, stream: true }), { authorization: 'Bearer a-key-that-ada-knows' }),
      ...init,
    });

  it('passes each event on as it comes, and only its own key to the upstream', async () => {
    const request = upstream.next();
    const response = await chat('held');
    const events = eventsOf(response);
    expect((await events.next()).value).toContain('"Hel"');
    const { authorization, headerNames, body, finish } = await request;
    expect([authorization, body]).toEqual([`Bearer ${LLM_KEY}`, { model: 'held', stream: true }]);
    expect(headerNames).not.toContain('x-api-key');
    finish();
    expect((await events.next()).value).toContain('"lo."');
    expect(await events.next()).toEqual({ done: false, value: 'data: [DONE]' });
  });

  it.each(['held', 'silent'])(
    'ends the upstream call when the caller leaves, whether or not the answer has begun: %s',
    async (model) => {
      const request = upstream.next();
      const leave = new AbortController();
      const answer = chat(model, { signal: leave.signal }).catch((error: Error) => error.name);
      const { ended } = await request;
      if (model === 'held') await answer;
      leave.abort();
      expect(await ended).toBe(false);
      await answer;
    },
  );

  it('passes on what the upstream refuses, and refuses those without a key itself', async () => {
    const refused = await chat('busy');
    expect([refused.status, await refused.json()]).toEqual([429, { error: { message: 'Slow down.' } }]);
    expect((await chat('small', { headers: {} })).status).toBe(401);
  });
});

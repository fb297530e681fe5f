import { connect } from 'node:net';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';

/*
 * A handler, or a caller, that means harm, against the whole service: what the parts' own tests cannot see, because it
 * falls between them.
 */

let service: Service;
let api: ApiClient;

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service.managementUrl, service.managementKey!);
}, 60_000);

afterAll(() => service.dispose(), 30_000);

const run = (path: string, init?: RequestInit): ReturnType<typeof send> =>
  send(`${service.functionUrl}/run${path}`, init);

/** Sends bytes to the function port and gives all that comes back until the other side ends. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(service.functionUrl).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.write(bytes);
  await once(socket, 'close');
  return text;
}

/** What a handler writes to the connection by which its runtime reports. */
const says = (message: string): string =>
  `import { writeSync } from 'node:fs';\nwriteSync(3, JSON.stringify(${message}) + '\\n');`;

describe('a handler that writes to the feed', () => {
  it('R2: cannot have the router open another socket of the machine', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'wherry-victim-'));
    const path = join(directory, 'root-only.sock');
    let reached = false;
    const victim = createServer((_request, response) => {
      reached = true;
      response.end('the inside');
    }).listen(path);
    await once(victim, 'listening');
    try {
      const handler = `${says(JSON.stringify({ type: 'loaded', address: { path } }))}\nexport default (c) => c.text('own');`;
      await api.source('elsewhere', { 'h.ts': handler });
      const id = await api.function({
        name: 'elsewhere',
        handler: 'elsewhere/h.ts',
        route: '/elsewhere',
        timeoutSeconds: 1,
      });
      const { status } = await api.functionWhen(
        id,
        ({ status: { ready, reason } }) => ready === true || reason === 'CrashLoop',
      );
      expect(status.ready).toBe(false);
      expect((await run('/elsewhere')).text).not.toContain('the inside');
      expect(reached).toBe(false);
      await api.expect('DELETE', `/api/functions/${id}`);
    } finally {
      victim.close();
      await rm(directory, { recursive: true });
    }
  });

  it('S6: cannot forge records of the platform, entries of another function, or a time that breaks or leads the log', async () => {
    const entry = { functionName: 'other', requestId: 'x', level: 'log', message: 'forged', args: null, sequence: 0 };
    const entries = [
      { ...entry, timestamp: 1e300 },
      { ...entry, timestamp: -1e300 },
      { ...entry, level: 'exec_end', timestamp: 1 },
    ];
    const handler = `${says(JSON.stringify({ type: 'logs', dropped: 0, entries }))}\nexport default (c) => { console.log('honest'); return c.text('ok'); };`;
    await api.source('forger', { 'h.ts': handler });
    const id = await api.readyFunction({ name: 'forger', handler: 'forger/h.ts', route: '/forger' });
    expect((await run('/forger')).status).toBe(200);
    const logs = await eventually(async () => {
      const { data } = (await api.expect('GET', `/api/logs?functionId=${id}`)).body;
      expect(data.logs.map(({ message }: { message: string }) => message)).toContain('honest');
      return data.logs as { functionId: string; level: string; message: string; timestamp: string }[];
    });
    const forged = logs.filter(({ message }) => message === 'forged');
    expect(forged.map(({ level, functionId }) => [level, functionId])).toEqual([
      ['log', id],
      ['log', id],
    ]);
    expect(logs.findIndex(({ message }) => message === 'honest')).toBeLessThan(
      logs.findIndex(({ message }) => message === 'forged'),
    );
    expect((await api.request('GET', '/api/logs')).status).toBe(200);
  });
});

describe('a caller', () => {
  it('R6: finds its key in no log, whatever part of the call it put it in', async () => {
    const { groupId, value } = await api.groupWithKey('leaky');
    await api.source('leaky', {
      'h.ts':
        "export default (c) => { console.log(c.req.url, JSON.stringify(Object.fromEntries(c.req.raw.headers))); return c.text('ok'); };",
    });
    const id = await api.readyFunction({ name: 'leaky', handler: 'leaky/h.ts', route: '/leaky/*', keys: [groupId] });
    const escaped = [...value].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
    const headers = {
      'x-api-key': value,
      authorization: `Bearer ${value}`,
      referer: `http://a/?api_key=${escaped}`,
      origin: `http://${value}`,
    };
    const answer = await run(`/leaky/a?api_key=${escaped}&b=${escaped}%zz&c=1`, { headers });
    expect(answer.status).toBe(200);
    expect((await run(`/leaky/${escaped}`, { headers: { 'x-api-key': `${value}x` } })).status).toBe(401);
    const text = await eventually(async () => {
      const { text } = await api.expect('GET', `/api/logs?functionId=${id}&level=log,exec_start,exec_end`);
      expect(text).toContain('exec_end');
      expect(text).toContain('/leaky/a?c=1');
      return text;
    });
    expect(text).not.toContain(value);
    expect(text).not.toContain(escaped);
  });

  it.each([[false], [true]])(
    'gets the reason why a handler does not load only where its function is in debug (%s)',
    async (debug) => {
      const name = `unloadable-${debug}`;
      await api.source(name, {
        'h.ts': "throw new Error('postgres://user:password@db'); export default () => undefined;",
      });
      const id = await api.function({ name, handler: `${name}/h.ts`, route: `/${name}`, debug });
      const { status } = await api.functionWhen(id, (fn) => fn.status.reason === 'LoadError');
      expect(status.message).toContain('password');
      const answer = await run(`/${name}`);
      expect([answer.status, answer.body.code]).toEqual([500, 'handler_load_error']);
      expect(answer.text.includes('password') || answer.text.includes('h.ts')).toBe(debug);
    },
  );

  it('many calls in one packet: each is judged by its own key', async () => {
    const [one, two] = [await api.groupWithKey('first-of-two'), await api.groupWithKey('second-of-two')];
    await api.source('two', { 'h.ts': 'export default (c, ctx) => c.text(`<${ctx.authenticatedKeyGroup}>`);' });
    for (const [name, { groupId }] of Object.entries({ one, two })) {
      await api.readyFunction({ name, handler: 'two/h.ts', route: `/two/${name}`, keys: [groupId] });
    }
    const call = (name: string, key: string, end = ''): string =>
      `GET /run/two/${name} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\n${end}\r\n`;
    const text = await raw(
      call('one', one.value) +
        call('two', one.value) +
        call('two', two.value) +
        call('one', two.value) +
        call('one', one.value, 'Connection: close\r\n'),
    );
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '401',
      '200',
      '401',
      '200',
    ]);
    expect([...text.matchAll(/<([\w-]+)>/g)].map(([, group]) => group)).toEqual([
      'first-of-two',
      'second-of-two',
      'first-of-two',
    ]);
  });

  it("leaves no slot of a function's limit taken, whenever it goes", async () => {
    const handler = `export default async (c, ctx) => {
      if (c.req.query('q') === 'slow') await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      if (c.req.query('q') === 'stream') return new Response(new ReadableStream({ pull: (k) => k.enqueue(new Uint8Array(65536)) }));
      return c.text(String((await c.req.arrayBuffer()).byteLength));
    };`;
    await api.source('slots', { 'h.ts': handler });
    await api.readyFunction({
      name: 'slots',
      handler: 'slots/h.ts',
      route: '/slots',
      methods: ['GET', 'POST'],
      maxConcurrency: 2,
    });
    const get = (q: string): string => `GET /run/slots?q=${q} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const post = 'POST /run/slots HTTP/1.1\r\nHost: a\r\n';
    const calls = [
      get('slow'),
      get('slow') + get('slow'),
      get('stream') + get('stream'),
      `${post}Content-Length: 9\r\n\r\nx`,
      `${post}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz`,
    ];
    for (const bytes of calls) {
      const socket = connect(Number(new URL(service.functionUrl).port), '127.0.0.1').on('error', () => undefined);
      socket.write(bytes);
      // Both slots are taken, or the call is over already: then it goes.
      await eventually(async () => expect((await run('/slots')).status).toBe(429), 500).catch(() => undefined);
      socket.destroy();
      await eventually(
        async () =>
          expect((await Promise.all([run('/slots'), run('/slots')])).map(({ status }) => status)).toEqual([200, 200]),
        2000,
      );
    }
  });
});

describe('many at once', () => {
  const fifty = <T>(act: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: 50 }, (_, index) => act(index)));
  const statuses = (answers: { status: number }[]): Record<number, number> =>
    Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, all]) => [status, all.length]));

  it.each<[string, (index: number) => [string, object]]>([
    ['groups of one name', () => ['/api/key-groups', { name: 'race' }]],
    ['sources of one name', () => ['/api/sources', { name: 'race', type: 'manual' }]],
    [
      'keys of one value',
      (index) => ['/api/keys', { groupId: 'management', name: `race-${index}`, value: 'one_value_one_value' }],
    ],
    [
      'functions on one route',
      (index) => [
        '/api/functions',
        { name: 'race', handler: 'race/h.ts', route: `/race/:p${index}`, methods: ['GET'] },
      ],
    ],
  ])('%s: one is made, 49 are refused', async (_what, request) => {
    expect(statuses(await fifty((index) => api.request('POST', ...request(index))))).toEqual({ 201: 1, 409: 49 });
  });

  it('files of one source: all of them land', async () => {
    const source = await api.source('landing');
    await fifty((index) => api.upload(source, `f${index}.txt`, String(index)));
    expect((await api.expect('GET', `/api/sources/${source}/files`)).body.files).toHaveLength(50);
  });
});

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { MAIN, StartFailed, startService, type Service, type ServiceOptions } from '../testing/embedded-service.ts';
import { descendants, stillRunning } from '../testing/processes.ts';
import { quietPort } from '../testing/quiet-port.ts';

/*
 * Starting, refusing to start, stopping and being killed: what the person sees who does it, and what is left behind.
 */

const HANDLERS = {
  'hello.js': 'export default (c) => c.text("hello");',
  'slow.js': 'export default async (c) => c.text(await (await fetch(c.req.query("gate"))).text());',
};

let folder: string;
let services: Service[];
let gate: HttpServer | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-e2e-'));
  services = [];
  gate = undefined;
});

afterEach(async () => {
  gate?.close().closeAllConnections();
  await Promise.all(services.map((service) => service.stop()));
  await rm(folder, { recursive: true, force: true });
}, 30_000);

const data = (name = 'data'): string => join(folder, name);

async function start(options: ServiceOptions = {}): Promise<Service> {
  const service = await startService({ dataDirectory: data(), ...options });
  services.push(service);
  return service;
}

/** A start that must fail. */
async function refused(options: ServiceOptions): Promise<StartFailed> {
  const failure: unknown = await start(options).catch((error: unknown) => error);
  if (failure instanceof StartFailed) return failure;
  throw failure instanceof Error ? failure : new Error('the service started, though it should not have');
}

/** A service that answers `/hello` and, as soon as the URL in its query answers, `/slow`. */
async function startWithFunctions(options: ServiceOptions = {}): Promise<{ service: Service; api: ApiClient }> {
  const service = await start(options);
  const api = new ApiClient(service.managementUrl, service.managementKey!);
  await api.source('some', HANDLERS);
  await Promise.all(
    ['hello', 'slow'].map((name) => api.readyFunction({ name, handler: `some/${name}.js`, route: `/${name}` })),
  );
  return { service, api };
}

/** A server of the test's: a handler that fetches its URL runs until the test ends the answer. */
async function openGate(): Promise<{ url: string; request: Promise<ServerResponse> }> {
  gate = createHttpServer();
  gate.listen({ port: 0, host: '127.0.0.1' });
  await once(gate, 'listening');
  const request = once(gate, 'request').then(([, response]) => response as ServerResponse);
  return { url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`, request };
}

const call = (service: Service, path: string): ReturnType<typeof send> => send(`${service.functionUrl}/run${path}`);
const answersHello = (service: Service): Promise<void> =>
  eventually(async () => expect((await call(service, '/hello')).text).toBe('hello'), 5000);
const lockOf = (dataDirectory: string): { pid: number; run: string } =>
  JSON.parse(readFileSync(join(dataDirectory, 'wherry.lock'), 'utf8'));

describe('a start', () => {
  it('shows both URLs and a management key, the key on the first start only; a restart serves what was there', async () => {
    const { service, api } = await startWithFunctions();
    expect(service.managementKey).toMatch(/^wh_[A-Za-z0-9_-]{43}$/);
    const before = await Promise.all(
      ['functions', 'sources', 'keys', 'key-groups'].map((kind) => api.expect('GET', `/api/${kind}`)),
    );
    expect(await service.stop()).toBe(0);

    const again = await start();
    expect(again.managementKey).toBeUndefined();
    expect(again.output()).not.toContain('wh_');
    await answersHello(again);
    const later = new ApiClient(again.managementUrl, service.managementKey!);
    const [functions, ...others] = await Promise.all(
      ['functions', 'sources', 'keys', 'key-groups'].map((kind) => later.expect('GET', `/api/${kind}`)),
    );
    const definition = ({ status: _status, ...rest }: any): unknown => rest;
    expect(functions!.body.functions.map(definition)).toEqual(before[0]!.body.functions.map(definition));
    expect(others.map(({ body }) => forgetful(body))).toEqual(before.slice(1).map(({ body }) => forgetful(body)));
    await eventually(async () => {
      const now = (await later.expect('GET', '/api/functions')).body.functions;
      expect(now.map((fn: any) => fn.status.revision)).toEqual(
        before[0]!.body.functions.map((fn: any) => fn.status.revision),
      );
      expect(now.every((fn: any) => fn.status.ready)).toBe(true);
    });
  }, 60_000);

  it('uses WHERRY_MANAGEMENT_KEY and does not repeat it', async () => {
    const key = 'a-key-of-my-own-choice';
    const service = await start({ environment: { WHERRY_MANAGEMENT_KEY: key } });
    expect(service.output()).not.toContain(key);
    expect(service.output()).toContain('WHERRY_MANAGEMENT_KEY');
    expect((await send(`${service.managementUrl}/api/functions`, { headers: { 'x-api-key': key } })).status).toBe(200);
    expect((await send(`${service.managementUrl}/api/functions`, { headers: { 'x-api-key': `${key}x` } })).status).toBe(
      401,
    );
  }, 30_000);

  it('says so where functions run as its own user, and only there', async () => {
    const note = 'Functions run as the same user as the service';
    const isRoot = process.getuid?.() === 0;
    expect((await start()).output().includes(note)).toBe(!isRoot);
    if (!isRoot) return;
    // Root without a right that it needs to keep them apart, as in a container.
    const command = { program: 'setpriv', args: ['--bounding-set=-setuid', process.execPath, MAIN], folder };
    expect((await start({ command, dataDirectory: data('other') })).output()).toContain(note);
  }, 60_000);

  it('serves everything on one port when both are the same', async () => {
    const port = String(await quietPort());
    const { service, api } = await startWithFunctions({ environment: { FUNCTION_PORT: port, MANAGEMENT_PORT: port } });
    expect(service.managementUrl).toBe(service.functionUrl);
    expect((await call(service, '/hello')).text).toBe('hello');
    const big = 'x'.repeat(3_000_000);
    await api.upload((await api.expect('GET', '/api/sources/by-name/some')).body.id as string, 'big.txt', big);
    const id = (await api.expect('GET', '/api/sources/by-name/some')).body.id as string;
    expect((await api.expect('GET', `/api/sources/${id}/files/big.txt`)).text).toBe(big);
    expect((await send(`${service.functionUrl}/api/functions`)).status).toBe(401);
  }, 60_000);

  it('after kill -9 works at once, on the same data and ports, and nothing of the killed one is left', async () => {
    const ports = { FUNCTION_PORT: String(await quietPort()), MANAGEMENT_PORT: String(await quietPort()) };
    const { service } = await startWithFunctions({ environment: ports });
    const children = descendants(service.process.pid!);
    const { run } = lockOf(data());
    expect(children.length).toBeGreaterThanOrEqual(3);
    await service.stop('SIGKILL');
    const again = await start({ environment: ports });
    await answersHello(again);
    await eventually(() => expect(stillRunning(children)).toEqual([]), 5000);
    expect(existsSync(run)).toBe(false);
  }, 60_000);
});

/** What a use of a key changes is no part of the data that must be the same. */
function forgetful(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body, (name, value: unknown) => (name === 'lastUsedAt' ? undefined : value)));
}

async function listening(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('a start that cannot be', () => {
  /** One line for a person, not a stack. */
  const line = ({ exitCode, output }: StartFailed): string => {
    expect(exitCode).toBe(1);
    const lines = output.trim().split('\n');
    expect(lines).toHaveLength(1);
    return lines[0]!;
  };

  it('on data that another service uses says so, with its pid, and leaves that one alone', async () => {
    const { service } = await startWithFunctions();
    const said = line(await refused({}));
    expect(said).toContain(data());
    expect(said).toContain(`pid ${service.process.pid}`);
    await answersHello(service);
    expect(await service.stop()).toBe(0);
  }, 60_000);

  it('on a taken port names it and its variable, and leaves nothing behind', async () => {
    for (const variable of ['FUNCTION_PORT', 'MANAGEMENT_PORT']) {
      const server = await listening();
      const { port } = server.address() as { port: number };
      try {
        const said = line(await refused({ environment: { [variable]: String(port) } }));
        expect(said).toContain(String(port));
        expect(said).toContain(variable);
        expect(existsSync(data())).toBe(false);
      } finally {
        server.close();
      }
    }
    expect((await start()).managementKey).toBeDefined();
  }, 60_000);

  it.each([
    ['is a file', 'file'],
    ['lies below a file', 'file/data'],
  ])('in a data directory that %s names it', async (_what, path) => {
    await writeFile(data('file'), '');
    expect(line(await refused({ dataDirectory: data(path) }))).toContain(data(path));
  });

  it.each([
    ['FUNCTION_PORT', 'eight'],
    ['MANAGEMENT_PORT', '70000'],
    ['WHERRY_PUBLIC_URL', 'example.org'],
    ['WHERRY_MANAGEMENT_KEY', 'short'],
    ['WHERRY_LOG_LEVEL', 'loud'],
    ['TRUSTED_PROXIES', 'everybody'],
  ])('with a bad %s (%s) names it, and makes no data', async (variable, value) => {
    expect(line(await refused({ environment: { [variable]: value } }))).toContain(variable);
    expect(existsSync(join(data(), 'wherry.db'))).toBe(false);
  });

  it('with a key file that is missing, empty, cut short or has a short key, beside a database, names the file and changes nothing (E4)', async () => {
    const file = join(data(), 'keys.json');
    await (await start()).stop();
    const kept = readFileSync(file, 'utf8');
    const secret = 'c2hvcnQ=';
    const shortKey = { version: 1, secret, createdAt: '2026-01-01T00:00:00.000Z' };
    const contents = [
      undefined,
      '',
      '{"format": 1, "current": 1, "ke',
      JSON.stringify({ format: 1, current: 1, keys: [shortKey], digestKey: secret }),
    ];
    for (const content of contents) {
      await (content === undefined ? rm(file) : writeFile(file, content, { mode: 0o600 }));
      const said = line(await refused({}));
      expect(said).toContain(file);
      expect(said).not.toContain('c2hvcnQ');
      expect(existsSync(file) ? readFileSync(file, 'utf8') : undefined).toBe(content);
    }
    await writeFile(file, kept, { mode: 0o600 });
    await start();
  }, 60_000);
});

describe('a stop', () => {
  it.each([
    ['SIGTERM', (service: Service): unknown => service.process.kill('SIGTERM')],
    ['SIGINT', (service: Service): unknown => service.process.kill('SIGINT')],
    [
      'Ctrl-C, which the whole process group gets',
      (service: Service): unknown => process.kill(-service.process.pid!, 'SIGINT'),
    ],
  ])(
    'by %s finishes running calls, takes no new ones, and leaves nothing behind',
    async (_how, signal) => {
      const { service } = await startWithFunctions({ detached: true });
      const children = descendants(service.process.pid!);
      const { run } = lockOf(data());
      const gate = await openGate();
      const running = call(service, `/slow?gate=${gate.url}`);
      const held = await gate.request;
      signal(service);
      await eventually(async () =>
        expect(await call(service, '/hello')).toMatchObject({ status: 503, body: { code: 'not_ready' } }),
      );
      held.end('slow, but whole');
      const answer = await running;
      expect([answer.status, answer.text]).toEqual([200, 'slow, but whole']);
      await expect(service.exited).resolves.toBe(0);
      expect(stillRunning(children)).toEqual([]);
      expect(existsSync(run)).toBe(false);
      expect(existsSync(join(data(), 'wherry.lock'))).toBe(false);
      expect(service.output()).not.toMatch(/error/i);
    },
    60_000,
  );

  it('requested twice waits for nothing, and leaves no process and a folder that the next start can use', async () => {
    const { service, api } = await startWithFunctions();
    await api.source('stuck', {
      'stuck.js': 'export default async (c) => { console.log("stuck"); await new Promise(() => {}); };',
    });
    await api.readyFunction({ name: 'stuck', handler: 'stuck/stuck.js', route: '/stuck' });
    const children = descendants(service.process.pid!);
    const running = call(service, '/stuck').catch(() => undefined);
    await eventually(
      async () => expect(JSON.stringify((await api.expect('GET', '/api/logs')).body)).toContain('"stuck"'),
      5000,
    );
    await eventually(async () => {
      service.process.kill('SIGINT');
      await Promise.race([service.exited, new Promise((_resolve, reject) => setTimeout(reject, 100))]);
    }, 5000);
    expect(await service.exited).toBe(1);
    await running;
    await eventually(() => expect(stillRunning(children)).toEqual([]), 5000);
    await answersHello(await start());
  }, 60_000);
});

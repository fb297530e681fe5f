import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileCache } from '@wherry/testing/compile-cache.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import type { RouterDown, RouterInstance, RouterUp } from '@wherry/core/feed/messages.ts';
import { TestAuthority, writeTlsFiles } from '@wherry/service/testing/test-certificates.ts';
import { TestFeedServer } from '@wherry/service/testing/test-feed-server.ts';
import { eventually, GOOD_KEY, httpCall, routerFunction, routerKey, snapshot } from '../testing/harness.ts';

const PROGRAM = fileURLToPath(new URL('../main.ts', import.meta.url));

/** The router as its pod runs it. */
class RouterPod {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  stderr = '';
  port = 0;
  opsPort = 0;

  constructor(environment: Record<string, string>) {
    this.child = spawn(process.execPath, [PROGRAM], {
      env: { ...compileCache, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = once(this.child, 'exit').then(([code]) => code as number | null);
  }

  async listening(): Promise<void> {
    await eventually(() => this.lines().some(({ msg }) => msg === 'the router is listening'), 15_000);
    const line = this.lines().find(({ msg }) => msg === 'the router is listening');
    this.port = Number(line?.port);
    this.opsPort = Number(line?.opsPort);
  }

  lines(): { msg: string; port?: number; opsPort?: number }[] {
    return this.stderr
      .split('\n')
      .flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line) as { msg: string }] : []));
  }

  async readiness(): Promise<[number, string]> {
    const { status, body } = await httpCall(this.opsPort, '/readyz');
    return [status, body.trim()];
  }

  get = (target: string, headers: Record<string, string> = {}) => httpCall(this.port, target, { headers });
}

describe('the router in a cluster', () => {
  const authority = new TestAuthority();
  const operator = authority.issue('operator', ['localhost']);
  let directory: string;
  let feed: TestFeedServer;
  let pod: RouterPod;
  let instance: RouterInstance;
  const servers: Server[] = [];
  let held: PromiseWithResolvers<ServerResponse>;
  afterAll(() => authority.remove());

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-router-pod-'));
    writeTlsFiles(directory, authority.issue('router'));
    feed = await TestFeedServer.start(operator, await quietPort(['localhost']));
    held = Promise.withResolvers();
    const server = createServer((req, res) => {
      if (req.url === '/hello?held') held.resolve(res);
      else res.end('hello');
    });
    servers.push(server);
    server.listen(path.join(directory, 'i.sock'));
    instance = { id: 'i', revision: 'r1', address: { path: path.join(directory, 'i.sock') }, token: 't' };
    await startPod('60');
  });
  afterEach(async () => {
    pod.child.kill('SIGKILL');
    await feed.close();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
    await rm(directory, { recursive: true, force: true });
  });

  async function startPod(lameDuckSeconds: string): Promise<void> {
    pod = new RouterPod({
      FUNCTION_PORT: '0',
      FUNCTION_HOST: '127.0.0.1',
      OPS_PORT: '0',
      WHERRY_FEED_ADDRESS: feed.address,
      WHERRY_TLS_DIRECTORY: directory,
      WHERRY_INSTANCE: 'router-7',
      WHERRY_LAME_DUCK_SECONDS: lameDuckSeconds,
    });
    await pod.listening();
  }
  const client = () => feed.clients.at(-1);
  const stateOf = (
    epoch: string,
    resourceVersion: string,
    functions = [routerFunction({ instances: [instance] })],
    keys = [routerKey(GOOD_KEY)],
  ): RouterDown => ({ ...snapshot(1, functions, keys), epoch, resourceVersion }) as RouterDown;
  async function send(message: RouterDown): Promise<void> {
    await eventually(() => client() !== undefined, 15_000);
    const before = client()?.up.length ?? 0;
    client()?.channel.send(message);
    await eventually(
      () =>
        client()
          ?.up.slice(before)
          .some((up) => (up as RouterUp).type === 'applied') === true,
    );
  }
  async function otherOperator(): Promise<void> {
    const { port } = feed;
    await feed.close();
    feed = await TestFeedServer.start(operator, port);
    await eventually(() => client() !== undefined, 15_000);
  }

  it('R8: is ready once it has a state, and says which it has', async () => {
    expect((await pod.get('/run/hello')).error.code).toBe('not_ready');
    expect(await pod.readiness()).toEqual([503, 'The router has not received its state from the feed yet.']);
    await send(stateOf('a', '100'));
    expect(client()?.hello).toEqual({ type: 'hello', role: 'router', instance: 'router-7', resourceVersion: '0' });
    expect((await pod.get('/run/hello')).body).toBe('hello');
    expect(await pod.readiness()).toEqual([200, 'ok']);
    const metrics = await httpCall(pod.opsPort, '/metrics');
    expect(metrics.body).toMatch(/wherry_function_calls_total\{[^}]*code="200"[^}]*function_name="hello"[^}]*\} 1\n/);
    expect((await httpCall(pod.opsPort, '/livez')).status).toBe(200);
  });

  it('serves on without any operator, keeps its log entries, and goes on with the next one', async () => {
    await send(stateOf('a', '100'));
    const { port } = feed;
    await feed.close();
    for (let n = 0; n < 3; n += 1) expect((await pod.get('/run/hello')).body).toBe('hello');
    expect(await pod.readiness()).toEqual([200, 'ok']);
    feed = await TestFeedServer.start(operator, port);
    await eventually(() => client() !== undefined, 15_000);
    expect(client()?.hello).toMatchObject({ resourceVersion: '100' });
    const entries = () => (client()?.up as RouterUp[]).flatMap((up) => (up.type === 'logs' ? up.entries : []));
    await eventually(() => entries().filter(({ level }) => level === 'exec_end').length === 3);
    await send(stateOf('b', '101', []));
    expect((await pod.get('/run/hello')).error.code).toBe('function_not_found');
  });

  it('R8: an operator that lags behind cannot bring back a revoked key', async () => {
    const guarded = [routerFunction({ instances: [instance], keyGroups: ['team'] })];
    const headers = { 'X-API-Key': GOOD_KEY };
    await send(stateOf('a', '100', guarded));
    expect((await pod.get('/run/hello', headers)).status).toBe(200);
    await send({ type: 'change', version: 2, resourceVersion: '105', removedKeys: [routerKey(GOOD_KEY).digest] });
    expect((await pod.get('/run/hello', headers)).status).toBe(401);
    await otherOperator();
    expect(client()?.hello).toMatchObject({ resourceVersion: '105' });
    const lagging = client();
    lagging?.channel.send(stateOf('b', '104', guarded));
    // What comes behind the old state on that connection counts no more than the state.
    lagging?.channel.send({ type: 'change', version: 2, resourceVersion: '110', keys: [routerKey(GOOD_KEY)] });
    await lagging?.channel.closed;
    expect((await pod.get('/run/hello', headers)).status).toBe(401);
    expect(lagging?.up.filter((up) => (up as RouterUp).type === 'applied')).toEqual([]);
    await eventually(() => client() !== lagging, 15_000);
    await send(stateOf('c', '105', guarded, [routerKey('wh_another-key-of-that-group')]));
    expect((await pod.get('/run/hello', headers)).status).toBe(401);
    expect((await pod.get('/run/hello', { 'X-API-Key': 'wh_another-key-of-that-group' })).status).toBe(200);
  });

  it('answers heartbeats, by which the operator knows that it is there', async () => {
    await send(stateOf('a', '100'));
    const before = client()?.up.length ?? 0;
    client()?.channel.send({ type: 'heartbeat', version: 1, resourceVersion: '120' });
    await eventually(
      () =>
        client()
          ?.up.slice(before)
          .some((up) => (up as RouterUp).type === 'applied') === true,
    );
    await otherOperator();
    expect(client()?.hello).toMatchObject({ resourceVersion: '120' });
  });

  it('after SIGTERM: is not ready at once, takes calls for a while, and has callers reconnect', async () => {
    await send(stateOf('a', '100'));
    pod.child.kill('SIGTERM');
    await eventually(() => pod.stderr.includes('the router is stopping'));
    expect(await pod.readiness()).toEqual([503, 'The program is stopping.']);
    const answer = await pod.get('/run/hello');
    expect([answer.body, answer.headers.connection]).toEqual(['hello', 'close']);
  });

  it('after SIGTERM, when it takes no more calls: finishes what runs and sends the last log entries', async () => {
    await eventually(() => client() !== undefined, 15_000);
    pod.child.kill('SIGKILL');
    await pod.exited;
    await startPod('0');
    await eventually(() => feed.clients.length === 2, 15_000);
    await send(stateOf('a', '100'));
    const answer = pod.get('/run/hello?held');
    const response = await held.promise;
    pod.child.kill('SIGTERM');
    await eventually(() => pod.stderr.includes('the router is stopping'));
    response.end('whole');
    expect((await answer).body).toBe('whole');
    expect(await pod.exited).toBe(0);
    await eventually(() =>
      (client()?.up as RouterUp[]).some(
        (up) => up.type === 'logs' && up.entries.some(({ level }) => level === 'exec_end'),
      ),
    );
  });
});

describe('the start of the router in a cluster', () => {
  it.each([
    [{}, /^wherry router: WHERRY_TLS_DIRECTORY must be set together with WHERRY_FEED_ADDRESS/],
    [{ WHERRY_TLS_DIRECTORY: '/nowhere' }, /^wherry router: WHERRY_TLS_DIRECTORY: \/nowhere must contain tls\.crt/],
    [
      { WHERRY_FEED_ADDRESS: 'feed' },
      /^wherry router: The configuration is not valid: WHERRY_FEED_ADDRESS: must be host:port\n$/,
    ],
  ])('names what is missing: %j', async (environment, text) => {
    const pod = new RouterPod({
      WHERRY_FEED_ADDRESS: 'localhost:1',
      FUNCTION_PORT: '0',
      OPS_PORT: '0',
      ...environment,
    });
    expect(await pod.exited).toBe(1);
    expect(pod.stderr).toMatch(text);
  });
});

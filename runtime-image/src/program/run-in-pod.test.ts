import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compileCache } from '@wherry/testing/compile-cache.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { CONTEXT_HEADER, TOKEN_HEADER } from '@wherry/core/feed/invocation.ts';
import { runtimeUpSchema, type RuntimeUp } from '@wherry/core/feed/messages.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { TestAuthority } from '@wherry/service/testing/test-certificates.ts';
import { TestFeedServer } from '@wherry/service/testing/test-feed-server.ts';

const MAIN = path.join(import.meta.dirname, '..', 'main.ts');
const state = (logLevel = 'info', secret = 'one') => ({
  function: {
    id: 'hello',
    namespace: 'default',
    name: 'Hello',
    description: null,
    handler: 'api/hello.ts',
    route: '/*',
    methods: ['GET'],
    keyGroups: null,
    debug: false,
  },
  settings: { logLevel },
  secrets: [{ name: 'A', value: secret, scope: 'global', owner: null }],
});
const revisionOf = (artifact: string): string => createHash('sha256').update(artifact).digest('hex');

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await systemClock.sleep(5);
}

describe('an instance in a pod', () => {
  const authority = new TestAuthority();
  const operator = authority.issue('operator', ['localhost']);
  afterAll(() => authority.remove());

  let directory: string;
  let feed: TestFeedServer;
  let child: ChildProcess;
  let exited: Promise<number | null>;
  let probePort: number;
  let port: number;
  let stderr = '';
  beforeEach(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'wherry-pod-'));
    writeFileSync(path.join(directory, 'ca.crt'), authority.ca);
    writeFileSync(path.join(directory, 'token'), 'token-of-hello\n');
    feed = await TestFeedServer.start(operator, await quietPort(['localhost']));
    probePort = await quietPort();
  });
  afterEach(async () => {
    child.kill('SIGKILL');
    await exited;
    await feed.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function startPod(environment: Record<string, string> = {}): void {
    stderr = '';
    child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        WHERRY_FEED_ADDRESS: feed.address,
        WHERRY_FEED_DIRECTORY: directory,
        WHERRY_WORKLOAD: 'hello-1',
        WHERRY_FUNCTION_UID: 'uid-1',
        WHERRY_INSTANCE: 'hello-1-abc',
        WHERRY_PROBE_PORT: String(probePort),
        KUBERNETES_SERVICE_HOST: '10.0.0.1',
        PATH: '/usr/bin',
        ...compileCache,
        ...environment,
      },
    });
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    exited = once(child, 'close').then(([code]) => code as number | null);
  }
  const client = () => feed.clients.at(-1);
  const ups = (): RuntimeUp[] => (client()?.up ?? []).map((up) => runtimeUpSchema.parse(up));
  const logs = () => ups().flatMap((up) => (up.type === 'logs' ? up.entries : []));
  async function sendStart(artifact: string, { token = 'invocation', secret = 'one' } = {}): Promise<void> {
    await eventually(() => client() !== undefined);
    const message = {
      type: 'start',
      revision: revisionOf(artifact),
      artifact,
      invocationToken: token,
      state: state('debug', secret),
    };
    client()?.channel.send({ ...message, listen: { host: '127.0.0.1', port: port ?? 0 } });
  }
  async function loaded(): Promise<number> {
    await eventually(() => ups().some(({ type }) => type === 'loaded'));
    const up = ups().find((message) => message.type === 'loaded');
    return up?.type === 'loaded' && 'port' in up.address ? up.address.port : 0;
  }
  async function serving(artifact: string, environment: Record<string, string> = {}): Promise<void> {
    port = 0;
    startPod(environment);
    await sendStart(artifact);
    expect(await probe('startz')).toEqual([200, 'ok']);
    port = await loaded();
  }
  const context = () =>
    Buffer.from(
      JSON.stringify({ requestId: 'r-1', requestedAt: Date.now(), timeoutMs: 10_000, params: {}, scheme: 'http' }),
    ).toString('base64url');
  const call = async (token = 'invocation', host = '127.0.0.1'): Promise<[number, string]> => {
    const response = await fetch(`http://${host}:${port}/`, {
      headers: { [TOKEN_HEADER]: token, [CONTEXT_HEADER]: context() },
    });
    return [response.status, await response.text()];
  };
  const probe = async (which: string): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${probePort}/${which}`);
    return [response.status, (await response.text()).trim()];
  };

  it('says who it is, loads what it is sent, listens on every address, and takes calls when the kubelet knows', async () => {
    startPod();
    await eventually(() => client() !== undefined);
    expect(client()?.hello).toEqual({
      type: 'hello',
      role: 'runtime',
      instance: 'hello-1-abc',
      workload: 'hello-1',
      functionUid: 'uid-1',
      token: 'token-of-hello',
    });
    expect([await probe('livez'), await probe('readyz')]).toEqual([
      [200, 'ok'],
      [404, 'Not found. There are /livez and /startz.'],
    ]);
    port = 0;
    await sendStart(`console.log('loads'); export default (c) => c.text('hi')`);
    await eventually(() => logs().length > 0);
    client()?.channel.send({ type: 'heartbeat' });
    await eventually(() => ups().some(({ type }) => type === 'alive'));
    expect(ups().map(({ type }) => type)).not.toContain('loaded');
    expect(await probe('startz')).toEqual([200, 'ok']);
    port = await loaded();
    expect(ups().find(({ type }) => type === 'loaded')).toEqual({
      type: 'loaded',
      address: { host: '127.0.0.1', port },
    });
    expect([await call(), await call('invocation', '127.0.0.2'), await probe('livez')]).toEqual([
      [200, 'hi'],
      [200, 'hi'],
      [200, 'ok'],
    ]);
    expect((await call('wrong'))[0]).toBe(401);
  });

  it('keeps a probe waiting until its code is loaded, but not for longer than the kubelet waits', async () => {
    startPod();
    await eventually(() => client() !== undefined);
    expect(await probe('startz')).toEqual([503, 'The code of the function is not loaded yet.']);
    const waiting = probe('startz');
    port = 0;
    await sendStart(`export default (c) => c.text('hi')`);
    expect(await waiting).toEqual([200, 'ok']);
    port = await loaded();
    expect(await call()).toEqual([200, 'hi']);
  });

  it('serves on without its feed, and takes the state, not the code, when it is back', async () => {
    const artifact = `let calls = 0; export default async (c, ctx) => c.text(await ctx.getSecret('A') + ' ' + ++calls)`;
    await serving(artifact);
    expect(await call()).toEqual([200, 'one 1']);
    const { port: feedPort } = feed;
    // An attempt to connect may already have read it when the next operator listens.
    writeFileSync(path.join(directory, 'token'), 'the-next-token');
    await feed.close();
    expect(await call()).toEqual([200, 'one 2']);
    feed = await TestFeedServer.start(operator, feedPort);
    await eventually(() => client() !== undefined);
    expect(client()?.hello).toMatchObject({ token: 'the-next-token' });
    await sendStart(artifact, { secret: 'two', token: 'the-next-invocation' });
    expect(await loaded()).toBe(port);
    // Routers that have not learned the new token yet are still answered.
    expect([await call('the-next-invocation'), await call(), (await call('x'))[0]]).toEqual([
      [200, 'two 3'],
      [200, 'two 4'],
      401,
    ]);
    // Another revision is another pod's.
    await sendStart(`export default (c) => c.text('another')`, { secret: 'three' });
    client()?.channel.send({ type: 'heartbeat' });
    await eventually(() => ups().some(({ type }) => type === 'alive'));
    expect(await call()).toEqual([200, 'two 5']);
  });

  it('keeps what was logged while there is no feed, and sends it afterwards', async () => {
    await serving(`export default (c) => { console.log('said'); return c.text('x'); }`);
    const { port: feedPort } = feed;
    await feed.close();
    await call();
    feed = await TestFeedServer.start(operator, feedPort);
    await eventually(() => logs().some(({ message }) => message === 'said'));
  });

  it('reports why its code does not load: to the feed, and in the last line of its log; then exits with 1', async () => {
    startPod();
    await sendStart(`throw new Error('x'.repeat(10) + '€'.repeat(5000));`);
    expect(await exited).toBe(1);
    expect(ups()).toContainEqual({
      type: 'failed',
      reason: 'LoadError',
      message: expect.stringContaining('x€€€') as string,
    });
    // What the kubelet takes of it.
    const last = Buffer.from(stderr).subarray(-2048).toString().trimEnd().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toEqual({
      reason: 'LoadError',
      message: expect.stringMatching(/^Error: x{10}€{500}/) as string,
    });
  });

  it('after SIGTERM: answers for a while', async () => {
    await serving(`export default (c) => c.text('x');`, { WHERRY_LAME_DUCK_SECONDS: '60' });
    child.kill('SIGTERM');
    expect(await call()).toEqual([200, 'x']);
  });

  it('after SIGTERM, when no more calls come: finishes what runs, sends the last entries, exits with 0', async () => {
    await serving(
      `export default (c, ctx) => { ctx.waitUntil(new Promise((r) => setTimeout(r, 1500)).then(() => console.log('last words'))); return c.text('x'); }`,
      { WHERRY_LAME_DUCK_SECONDS: '0' },
    );
    await call();
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await eventually(() => logs().length === 1);
    expect(logs()[0]?.message).toBe('last words');
  });

  it('S3: what ended it is in the log', async () => {
    await serving(
      `export default () => { setTimeout(() => { throw new Error('lost'); }, 1); return new Promise(() => {}); }`,
    );
    await expect(call()).rejects.toThrow('fetch failed');
    expect(await exited).toBe(1);
    await eventually(() => logs().length > 0);
    expect(logs()).toMatchObject([
      { level: 'error', requestId: 'r-1', message: expect.stringContaining('Error: lost') },
    ]);
  });

  it('S8: far more than the buffer of a socket holds is delivered before a crash', async () => {
    await serving(
      `export default () => { for (let n = 0; n < 6000; n += 1) console.log(String(n).padEnd(1024, 'x')); setTimeout(() => { throw new Error('lost'); }); return new Promise(() => {}); }`,
    );
    await expect(call()).rejects.toThrow('fetch failed');
    expect(await exited).toBe(1);
    await eventually(() => logs().length === 6001);
    expect(logs().at(-1)?.message).toContain('Error: lost');
  });

  it('S8: what process.exit() leaves behind has been announced, so that it can be counted', async () => {
    await serving(
      `export default () => { for (let n = 0; n < 6000; n += 1) console.log(String(n).padEnd(1024, 'x')); process.exit(7); }`,
    );
    await expect(call()).rejects.toThrow('fetch failed');
    expect(await exited).toBe(7);
    await eventually(() => ups().some((up) => up.type === 'logs' && up.following === 6000));
  });

  it('S3: a blocked event loop answers no probe', async () => {
    await serving(`export default () => { for (;;); }`);
    void call().catch(() => undefined);
    const answered = () =>
      fetch(`http://127.0.0.1:${probePort}/livez`, { signal: AbortSignal.timeout(300) }).then(
        () => true,
        () => false,
      );
    await eventually(async () => !(await answered()));
  });

  it("S1: a handler finds nothing of the platform's in its environment, and of secrets only its own function's token", async () => {
    await serving(`
      import { readdirSync, readFileSync } from 'node:fs';
      export default (c) => c.json({ env: process.env, files: readdirSync('${directory}').sort(), token: readFileSync('${directory}/token', 'utf8'), first: readFileSync('/proc/self/environ', 'utf8') });`);
    const { env, files, token, first } = JSON.parse((await call())[1]) as {
      env: object;
      files: string[];
      token: string;
      first: string;
    };
    expect(env).toEqual({
      NODE_ENV: 'production',
      TZ: 'UTC',
      WHERRY_FUNCTION: 'hello',
      WHERRY_REVISION: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect([files, token]).toEqual([['ca.crt', 'token'], 'token-of-hello\n']);
    expect(first).not.toContain('token-of-hello');
  });

  it('connects to no operator whose certificate is of another authority', async () => {
    const otherAuthority = new TestAuthority('another authority');
    writeFileSync(path.join(directory, 'ca.crt'), otherAuthority.ca);
    startPod();
    await eventually(() => stderr.includes('cannot connect to the feed'));
    expect(feed.clients).toEqual([]);
    // The authority that the kubelet brings later is seen at the next attempt.
    writeFileSync(path.join(directory, 'ca.crt'), authority.ca);
    await eventually(() => feed.clients.length === 1);
    otherAuthority.remove();
  });

  it.each([
    [
      { WHERRY_FUNCTION_UID: '' },
      /WHERRY_WORKLOAD, WHERRY_FUNCTION_UID, WHERRY_INSTANCE: must be set together with WHERRY_FEED_ADDRESS/,
    ],
    [{ WHERRY_FEED_ADDRESS: 'feed' }, /WHERRY_FEED_ADDRESS: must be host:port/],
    [{ WHERRY_PROBE_PORT: 'x' }, /WHERRY_PROBE_PORT/],
  ])('names what is missing: %j', async (environment, text) => {
    startPod(environment);
    expect(await exited).toBe(1);
    expect(stderr).toMatch(text);
  });
});

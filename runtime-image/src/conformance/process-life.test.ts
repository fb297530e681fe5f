import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { eventually } from '@wherry/testing/eventually.ts';
import { useInstances } from '../testing/use-instances.ts';

const { created, started, stopAll } = useInstances();
afterEach(stopAll);

describe('S3: an error outside of a call ends the instance, after it was logged', () => {
  it.each([
    ['an uncaught exception', `setTimeout(() => { throw new Error('lost'); }, 1);`],
    ['an unhandled rejection', `void Promise.reject(new Error('lost'));`],
    ['an unhandled rejection, later', `setTimeout(() => { Promise.reject(new Error('lost')); }, 1);`],
  ])('%s', async (_what, code) => {
    const instance = await started(
      `export default () => { console.log('before'); ${code} return new Promise(() => {}); }`,
    );
    await expect(instance.call({ context: { requestId: 'r-8' } })).rejects.toThrow(/hang up|ECONNRESET/);
    expect(await instance.exited).toBe(1);
    await instance.until(() => instance.logs.length === 2);
    expect(instance.logs).toMatchObject([
      { requestId: 'r-8', message: 'before' },
      { requestId: 'r-8', level: 'error', message: expect.stringMatching(/^Error: lost\n/) },
    ]);
  });

  it('process.exit() by the handler', async () => {
    const instance = await started(`export default () => { console.log('bye'); process.exit(7); }`);
    await expect(instance.call()).rejects.toThrow(/hang up|ECONNRESET/);
    expect(await instance.exited).toBe(7);
    await instance.until(() => instance.logs.length === 1);
    expect(instance.logs).toMatchObject([{ message: 'bye' }]);
  });
});

describe('S8: what was printed before the end is delivered', () => {
  const PRINTS = `for (let n = 0; n < 2000; n += 1) console.log(String(n).padEnd(1024, 'x'));`;
  it.each([
    ['process.exit()', `${PRINTS} process.exit(7);`, 7],
    [
      'an error outside of the call',
      `${PRINTS} setTimeout(() => { throw new Error('lost'); }); return new Promise(() => {});`,
      1,
    ],
  ])('2 MiB, far more than the buffer of a socket holds, before %s', async (_what, body, code) => {
    const instance = await started(`export default () => { ${body} }`);
    await expect(instance.call()).rejects.toThrow(/hang up|ECONNRESET/);
    expect(await instance.exited).toBe(code);
    await instance.until(() => instance.logs.length >= 2000);
    expect(instance.logs.slice(0, 2000).map(({ message }) => Number.parseInt(message, 10))).toEqual(
      Array.from({ length: 2000 }, (_, n) => n),
    );
  });
});

describe('SIGTERM', () => {
  it('first answers on, and has callers reconnect; then finishes what runs; exits 0', async () => {
    const instance = await started(
      `let open; export default (c, ctx) => {
      if (c.req.path === '/slow') return new Promise((resolve) => { open = () => resolve(c.text('slow is done')); });
      if (c.req.path === '/open') { ctx.waitUntil(new Promise((r) => setTimeout(r, 5200)).then(() => { console.log('after'); open(); })); }
      return c.text('quick'); }`,
      { environment: { WHERRY_LAME_DUCK_SECONDS: '5' } },
    );
    const slow = instance.call({ path: '/slow' });
    expect((await instance.call()).headers.connection).toBe('keep-alive');
    instance.child.kill('SIGTERM');
    let reply = await instance.call();
    while (reply.headers.connection !== 'close') reply = await instance.call();
    expect(reply.body).toBe('quick');
    expect((await instance.call({ path: '/open' })).body).toBe('quick');
    expect((await slow).body).toBe('slow is done');
    expect(await instance.exited).toBe(0);
    expect(instance.logs.map(({ message }) => message)).toEqual(['after']);
  });

  it('waits for no call longer than its timeout', async () => {
    const instance = await started(
      `export default (c, ctx) => { ctx.waitUntil(new Promise(() => {})); return c.text('x'); }`,
    );
    await instance.call({ context: { timeoutMs: 1500 } });
    instance.child.kill('SIGTERM');
    expect(await instance.exited).toBe(0);
  });

  it('fails no call, however often it comes', async () => {
    const instance = await started(
      `export default async (c) => { console.log('began'); return c.text(await c.req.text()); }`,
      { environment: { WHERRY_LAME_DUCK_SECONDS: '2' } },
    );
    const slow = instance.begin({ method: 'POST' });
    slow.write('slow ');
    await instance.until(() => instance.logs.length > 0);
    instance.child.kill('SIGTERM');
    await eventually(() => expect(instance.call()).rejects.toThrow(/ECONNREFUSED|ENOENT/));
    instance.child.kill('SIGTERM');
    slow.end('is done');
    const [answer] = (await once(slow, 'response')) as [IncomingMessage];
    expect(await text(answer)).toBe('slow is done');
    expect(await instance.exited).toBe(0);
  });

  it('ends one that never got a start message', async () => {
    const instance = created('');
    instance.send({ type: 'heartbeat' });
    await instance.until(() => instance.ups.length > 0);
    instance.child.kill('SIGTERM');
    expect(await instance.exited).toBe(0);
  });
});

describe('waitUntil', () => {
  it('logs what it was rejected with, and ends nothing', async () => {
    const instance = await started(
      `export default (c, ctx) => { ctx.waitUntil(Promise.reject(new Error('in vain'))); return c.text('x'); }`,
    );
    await instance.call();
    await instance.until(() => instance.logs.length > 0);
    expect(instance.logs).toMatchObject([
      { level: 'error', message: expect.stringContaining('in vain'), requestId: 'r-1' },
    ]);
    expect((await instance.call()).body).toBe('x');
  });
});

describe('the process', () => {
  it('ends with its feed: the service is dead', async () => {
    const instance = await started(`export default () => new Promise(() => console.log('in'))`);
    const call = instance.call();
    await instance.until(() => instance.logs.length > 0);
    instance.closeFeed();
    await expect(call).rejects.toThrow();
    expect(await instance.exited).toBe(0);
  });

  it('S1: has the documented environment, and nothing else', async () => {
    const instance = await started(`export default (c) => c.json(process.env)`, {
      environment: { WHERRY_LOAD_TIMEOUT_SECONDS: '20', MASTER_KEY: 'x', TZ: 'Europe/Berlin' },
    });
    expect(JSON.parse((await instance.call()).body)).toEqual({
      NODE_ENV: 'production',
      TZ: 'Europe/Berlin',
      WHERRY_FUNCTION: 'hello',
      WHERRY_REVISION: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('S1: cannot touch other processes, nor open files behind the permission model', async () => {
    const instance = await started(`
      const tries = { kill: () => process.kill(process.ppid, 0), debug: () => process._debugProcess(process.ppid), binding: () => process.binding('fs'), dlopen: () => process.dlopen({}, 'x'),
        sqlite: () => process.getBuiltinModule('node:sqlite').DatabaseSync, exec: () => process.getBuiltinModule('node:child_process').execSync('id') };
      export default async (c) => { const out = { imported: await import('node:sqlite').then(() => 'got it', () => 'refused') };
        for (const [name, run] of Object.entries(tries)) try { run(); out[name] = 'done'; } catch (error) { out[name] = 'refused'; }
        return c.json(out); }`);
    expect(new Set(Object.values(JSON.parse((await instance.call()).body) as object))).toEqual(new Set(['refused']));
  });

  it('listens on TCP, too', async () => {
    const instance = await started(`export default (c) => c.text('tcp')`, { tcp: true });
    expect(instance.ups[0]).toMatchObject({ address: { host: '127.0.0.1', port: expect.any(Number) } });
    expect((await instance.call()).body).toBe('tcp');
  });

  it('says so when it cannot listen, and exits', async () => {
    const instance = created('export default () => 1');
    const artifact = 'export default () => 1';
    const revision = createHash('sha256').update(artifact).digest('hex');
    const listen = { path: '/no/such/folder/x.sock' };
    instance.send({ type: 'start', revision, artifact, invocationToken: 't', listen, state: instance.state });
    expect(await instance.exited).toBe(1);
    expect(instance.stderr).toMatch(/EACCES|ENOENT/);
  });
});

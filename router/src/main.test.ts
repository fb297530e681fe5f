import { once } from 'node:events';
import { createServer as createHttpServer, request, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually as passes } from '@wherry/testing/eventually.ts';
import { eventually, httpCall, routerFunction, snapshot } from './testing/harness.ts';
import { NODE_FLAGS } from './program/node-flags.ts';
import { RouterProcess } from './testing/router-process.ts';

describe('the router program', () => {
  const running: RouterProcess[] = [];
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-router-main-'));
  });
  afterEach(async () => {
    for (const program of running.splice(0)) await program.kill();
    await rm(directory, { recursive: true, force: true });
  });

  function start(environment: Record<string, string>): RouterProcess {
    const program = RouterProcess.start(environment);
    running.push(program);
    return program;
  }

  it('serves from its feed, is not ready before (R8), finishes running calls on SIGTERM and exits with 0', async () => {
    const arrived = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const instance = createHttpServer((_req, res) => {
      arrived.resolve();
      void answer.promise.then(() => res.end('done'));
    });
    const socketPath = path.join(directory, 'i.sock');
    instance.listen(socketPath);
    const program = start({ FUNCTION_PORT: '0', FUNCTION_HOST: '127.0.0.1' });
    const port = await program.listening();
    expect((await httpCall(port, '/run/hello')).error.code).toBe('not_ready');
    const address = { path: socketPath };
    program.channel.send(
      snapshot(1, [routerFunction({ instances: [{ id: 'i', revision: 'r1', address, token: 't' }] })]),
    );
    await eventually(() => program.up.some((message) => message.type === 'applied'));
    const call = httpCall(port, '/run/hello');
    await arrived.promise;
    program.child.kill('SIGTERM');
    await eventually(() => program.stderr.includes('the router is stopping'));
    answer.resolve();
    expect((await call).body).toBe('done');
    expect(await program.exited).toBe(0);
    instance.closeAllConnections();
    instance.close();
  });

  it('shows its metrics again after it was killed and started again', async () => {
    const opsSocket = path.join(directory, 'ops.sock');
    const environment = { FUNCTION_PORT: '0', FUNCTION_HOST: '127.0.0.1', WHERRY_OPS_SOCKET: opsSocket };
    const metrics = async (): Promise<void> => {
      const outgoing = request({ socketPath: opsSocket, path: '/metrics', agent: false }).end();
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      incoming.resume();
      expect(incoming.statusCode).toBe(200);
    };
    const killed = start(environment);
    await passes(metrics);
    await killed.kill();
    await expect(metrics()).rejects.toThrow('ECONNREFUSED');
    start(environment);
    await passes(metrics);
  });

  it('ends when its service is dead', async () => {
    const program = start({ FUNCTION_PORT: '0', FUNCTION_HOST: '127.0.0.1' });
    await program.listening();
    program.channel.close();
    expect(await program.exited).toBe(0);
  });

  it('says on the feed that its port is taken, leaves it to the service to report that, and exits with 1', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const program = start({ FUNCTION_PORT: String(port), FUNCTION_HOST: '127.0.0.1' });
    expect(await program.exited).toBe(1);
    const message = `FUNCTION_PORT: cannot listen on 127.0.0.1:${port}: it is in use (EADDRINUSE). Stop the program that listens there, or set another port.`;
    expect(program.stderr).toBe('');
    await eventually(() => program.up.length > 0);
    expect(program.up).toEqual([{ type: 'failed', message }]);
    other.close();
  });

  it.each([
    [{ FUNCTION_PORT: 'eighty' }, /^wherry router: The configuration is not valid: FUNCTION_PORT: .*\n$/],
    [{ FUNCTION_PORT: '0', TRUSTED_PROXIES: '10.0.0.0/99' }, /TRUSTED_PROXIES.*10\.0\.0\.0\/99/],
  ])('names what is wrong in its configuration %j', async (environment, text) => {
    const program = start(environment);
    expect(await program.exited).toBe(1);
    expect(program.stderr).toMatch(text);
  });

  it("R12: is started with Node's flags in its image too", async () => {
    const dockerfile = await readFile(new URL('../Dockerfile', import.meta.url), 'utf8');
    expect(JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '')).toEqual([...NODE_FLAGS, '/app/main.js']);
  });
});

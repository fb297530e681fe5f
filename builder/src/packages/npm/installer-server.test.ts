import { mkdtemp, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createRegistryInstaller } from '../create-package-registry.ts';
import { registryBench, type RegistryBench } from '../testing/registry-bench.ts';
import { startTestRegistry, type TestRegistry } from '../testing/test-registry.ts';
import { startInstallerServer } from './installer-server.ts';

const never = new AbortController().signal;
let registry: TestRegistry;
let token: string;
let folder: string;
let socket: string;
let server: { stop(): Promise<void> } | undefined;
let bench: RegistryBench;

beforeAll(async () => {
  registry = await startTestRegistry();
  token = await registry.token();
  await registry.publish({ name: '@private/one', version: '1.0.0', files: { 'index.js': 'module.exports = 1;' } });
}, 120_000);
afterAll(() => registry.stop());

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-installer-'));
  socket = path.join(folder, 'installer.sock');
  server = await serve();
  bench = await registryBench({ registry: { socket } });
});
afterEach(async () => {
  await bench.stop();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const serve = (): Promise<{ stop(): Promise<void> }> => {
  const logger = new FakeLogger();
  return startInstallerServer({
    path: socket,
    installer: createRegistryInstaller({ registry: { url: registry.url, token }, clock, logger }),
    logger,
  });
};

const integrityOf = (lock: string): string => Object.values(bench.packages.layout(lock).packages)[0]!.integrity;

describe('packages over the socket of an installer', () => {
  it('B1: come with its token, which the other side of the socket does not have', async () => {
    expect((await stat(socket)).mode & 0o777).toBe(0o660);
    const lock = await bench.lock({ dependencies: { '@private/one': '1' } });
    expect(bench.versions(lock)).toEqual({ '@private/one': '@private/one@1.0.0' });
    expect((await bench.packages.tarball(integrityOf(lock), lock, never)).length).toBeGreaterThan(0);
  });

  it('fail as they do without one, by reason and package', async () => {
    expect(await bench.resolve({ dependencies: { nowhere: '1' } })).toMatchObject({
      ok: false,
      reason: 'PackageNotFound',
      message: expect.stringContaining('nowhere'),
    });
  });

  it('wait for an installer that restarts', async () => {
    await bench.lock({ dependencies: { '@private/one': '1' } });
    await server?.stop();
    const waiting = bench.lock({ dependencies: { '@private/one': '1.0.0' } });
    server = await serve();
    expect(bench.versions(await waiting)).toEqual({ '@private/one': '@private/one@1.0.0' });
  });

  it('may be called off, and others go on', async () => {
    const controller = new AbortController();
    const request = { source: 'api', specifiers: [], manifest: '{"dependencies":{"@private/one":"1"}}' };
    const called = bench.packages.resolve(request, controller.signal);
    controller.abort(new Error('called off'));
    await expect(called).rejects.toThrow('called off');
    expect(await bench.packages.resolve(request, never)).toMatchObject({ ok: true });
  });

  it.each<[string, object]>([
    [
      'a registry of its own, which would get the token',
      { type: 'configure', folder: '/tmp', registry: { url: 'http://127.0.0.1:1/' }, limits: {} },
    ],
    [
      'a tarball of a name that is a path',
      { type: 'tarball', id: 1, name: '../-/npm/v1/tokens', version: '1.0.0', integrity: 'sha512-x' },
    ],
    [
      'a tarball of a name that is an address',
      { type: 'tarball', id: 1, name: 'http://127.0.0.1:1/x', version: '1.0.0', integrity: 'sha512-x' },
    ],
    ['what is no order', { type: 'token' }],
  ])('B1: are refused to who requests %s: the connection ends', async (_what, order) => {
    const attacker = connect(socket);
    let answer = '';
    attacker.setEncoding('utf8').on('data', (text: string) => (answer += text));
    attacker.write(`${JSON.stringify(order)}\n`);
    await once(attacker, 'close');
    expect(answer).toBe('');
  });
});

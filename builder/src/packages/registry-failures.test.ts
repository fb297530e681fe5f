import { createServer } from 'node:net';
import { once } from 'node:events';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { startMeddlingProxy, type MeddlingProxy } from './testing/meddling-proxy.ts';
import { registryBench, type RegistryBench } from './testing/registry-bench.ts';
import { startTestRegistry, type TestRegistry } from './testing/test-registry.ts';

const NEVER = new AbortController().signal;
const MANIFEST = { dependencies: { outer: '1.0.0' } };

describe('createPackageRegistry, when the registry fails', () => {
  let registry: TestRegistry;
  let proxy: MeddlingProxy;
  let bench: RegistryBench;

  beforeAll(async () => {
    registry = await startTestRegistry();
    await registry.publish({ name: 'outer', version: '1.0.0', dependencies: { inner: '^1.0.0' } });
    await registry.publish({ name: 'inner', version: '1.0.0' });
  }, 60_000);
  afterAll(() => registry.stop());
  beforeEach(async () => {
    proxy = await startMeddlingProxy(registry.url);
    bench = await registryBench({ registry: { url: proxy.url, token: 'canary-token' } });
  });
  afterEach(async () => {
    await bench.stop();
    await proxy.stop();
  });

  async function tarball(): Promise<Buffer> {
    const lock = await bench.lock(MANIFEST);
    return bench.packages.tarball(bench.packages.layout(lock).packages['node_modules/inner']!.integrity, lock, NEVER);
  }

  it.each<[string, MeddlingProxy['meddle'], string]>([
    ['fails', (_request, response) => (response.writeHead(500).end(), true), 'it answered with status 500'],
    ['is overloaded', (_request, response) => (response.writeHead(429).end(), true), 'it answered with status 429'],
    ['cuts the connection', (_request, response) => (response.destroy(), true), 'it closed the connection'],
    ['speaks of something else', (_request, response) => (response.end('<html>'), true), 'its answer is not JSON'],
    [
      'goes in circles',
      (request, response) => (response.writeHead(302, { location: request.url }).end(), true),
      'it redirects in a loop',
    ],
    [
      'goes to a file',
      (_request, response) => (response.writeHead(302, { location: 'file:///etc/passwd' }).end(), true),
      'it redirects to file:',
    ],
  ])('says so when it %s, and that it may be better later', async (_name, meddle, why) => {
    proxy.meddle = (request, response) => request.url === '/inner' && meddle(request, response);
    expect(await bench.resolve(MANIFEST)).toMatchObject({
      ok: false,
      reason: 'RegistryUnavailable',
      retry: true,
      message: expect.stringContaining(`did not deliver inner: ${why}`),
    });
    proxy.meddle = () => false;
    expect(await bench.resolve(MANIFEST)).toMatchObject({ ok: true });
  });

  it.each<[string, MeddlingProxy['meddle'], string]>([
    ['does not answer', () => true, 'it did not answer in time'],
    [
      'stops in the middle',
      (_request, response) => (response.write('{"versions'), true),
      'it stopped in the middle of its answer',
    ],
  ])('says so when it %s, and that it may be better later', async (_name, meddle, why) => {
    const inner = { dependencies: { inner: '1.0.0' } };
    const impatient = await registryBench({ registry: { url: proxy.url }, limits: { silenceMs: 1000 } });
    proxy.meddle = meddle;
    const outcome = await impatient.resolve(inner);
    await impatient.stop();
    expect(outcome).toMatchObject({
      ok: false,
      reason: 'RegistryUnavailable',
      retry: true,
      message: expect.stringContaining(`did not deliver inner: ${why}`),
    });
    proxy.meddle = () => false;
    expect(await bench.resolve(inner)).toMatchObject({ ok: true });
  });

  it('does not take an optional package for absent because the registry failed', async () => {
    await registry.publish({ name: 'easy', version: '1.0.0', optionalDependencies: { inner: '1.0.0' } });
    proxy.meddle = (request, response) => request.url === '/inner' && (response.writeHead(503).end(), true);
    expect(await bench.resolve({ dependencies: { easy: '1.0.0' } })).toMatchObject({
      ok: false,
      reason: 'RegistryUnavailable',
      retry: true,
    });
  });

  it.each([
    ['http://registry.invalid/', 'its host name '],
    [undefined, 'it refuses connections (ECONNREFUSED)'],
  ])('says so when there is none at %s', async (url, why) => {
    const offline = await registryBench({ registry: { url: url ?? `http://127.0.0.1:${await quietPort()}/` } });
    expect(await offline.resolve(MANIFEST)).toMatchObject({
      ok: false,
      reason: 'RegistryUnavailable',
      retry: true,
      message: expect.stringContaining(`api/package.json: The registry did not deliver outer: ${why}`),
      location: { file: 'api/package.json', line: 3, column: 5 },
    });
    await offline.stop();
  });

  it('B3: does not take a tarball that was tampered with, whatever size it has', async () => {
    proxy.meddle = (request, response) => request.url?.endsWith('.tgz') === true && (response.end('tampered'), true);
    await expect(tarball()).rejects.toMatchObject({
      reason: 'PackageCorrupt',
      retry: true,
      message: expect.stringContaining('inner@1.0.0'),
    });
    proxy.meddle = () => false;
    expect((await tarball()).length).toBeGreaterThan(100);
  });

  it('stops a tarball that is too large, without reading it to its end', async () => {
    await bench.stop();
    bench = await registryBench({ registry: { url: proxy.url }, limits: { tarballBytes: 100_000 } });
    let sent = 0;
    proxy.meddle = (request, response) => {
      if (request.url?.endsWith('.tgz') !== true) return false;
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on('drain', more);
      more();
      return true;
    };
    await expect(tarball()).rejects.toMatchObject({ reason: 'PackageTooLarge', retry: false });
    expect(sent).toBeLessThan(100 * 1024 * 1024);
  });

  it('B3: gives the token to the registry alone, not to where it redirects or keeps its tarballs', async () => {
    const elsewhere = await startMeddlingProxy(registry.url);
    proxy.meddle = (request, response) =>
      request.url?.endsWith('.tgz') === true &&
      (response.writeHead(302, { location: new URL(request.url, elsewhere.url).href }).end(), true);
    expect((await tarball()).length).toBeGreaterThan(100);
    expect(proxy.requests.every(({ headers }) => headers.authorization === 'Bearer canary-token')).toBe(true);
    expect(elsewhere.requests).toHaveLength(1);
    expect(JSON.stringify(elsewhere.requests)).not.toContain('canary');
    await elsewhere.stop();
  });

  it('sends requests over the configured proxy', async () => {
    const connections: string[] = [];
    const tunnel = createServer((socket) => {
      socket.once('data', (data) => {
        connections.push(data.toString('latin1').split('\r\n')[0] ?? '');
        socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
      });
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(tunnel, 'listening');
    const { port } = tunnel.address() as { port: number };
    const behind = await registryBench({
      registry: { url: 'https://registry.example/', proxy: `http://127.0.0.1:${port}` },
    });
    expect(await behind.resolve(MANIFEST)).toMatchObject({ ok: false, reason: 'RegistryUnavailable' });
    expect(connections[0]).toBe('CONNECT registry.example:443 HTTP/1.1');
    await behind.stop();
    tunnel.close();
  });

  it('fetches once for all who want the same tarball, and one who leaves does not end it for the others', async () => {
    const lock = await bench.lock(MANIFEST);
    const { integrity } = bench.packages.layout(lock).packages['node_modules/inner']!;
    const leaving = new AbortController();
    const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    proxy.requests.length = 0;
    proxy.meddle = (request, response) => {
      if (request.url?.endsWith('.tgz') !== true || proxy.requests.length > 1) return false;
      onRequest();
      void released.then(() => response.writeHead(302, { location: `${request.url}?again` }).end());
      return true;
    };
    const first = bench.packages.tarball(integrity, lock, leaving.signal);
    const second = bench.packages.tarball(integrity, lock, NEVER);
    await requested;
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    release();
    expect((await second).length).toBeGreaterThan(100);
    expect(proxy.requests).toHaveLength(2);
  });
});

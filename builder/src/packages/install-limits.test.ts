import { gzipSync } from 'node:zlib';
import type { PackageRegistryOptions } from './create-package-registry.ts';
import type { ResolveResult } from './package-registry.ts';
import { startMeddlingProxy, type MeddlingProxy } from './testing/meddling-proxy.ts';
import { installProcesses, registryBench, type RegistryBench } from './testing/registry-bench.ts';
import { startTestRegistry, type TestRegistry } from './testing/test-registry.ts';

describe('B1: what one source may make the install process do', () => {
  let registry: TestRegistry;
  let proxy: MeddlingProxy;
  let bench: RegistryBench;

  beforeAll(async () => {
    registry = await startTestRegistry();
    for (const name of ['a', 'b', 'c']) await registry.publish({ name, version: '1.0.0' });
    await registry.publish({ name: 'needs-a', version: '1.0.0', dependencies: { a: '1' } });
    await registry.publish({ name: 'needs-two', version: '1.0.0', dependencies: { 'needs-a': '1' } });
    await registry.publish({
      name: 'crowd',
      version: '1.0.0',
      dependencies: { a: '1' },
      peerDependencies: { b: '1', c: '1' },
    });
  }, 60_000);
  afterAll(() => registry.stop());
  beforeEach(async () => {
    proxy = await startMeddlingProxy(registry.url);
  });
  afterEach(async () => {
    await bench.stop();
    await proxy.stop();
  });

  const start = async (limits: PackageRegistryOptions['limits'] = {}): Promise<void> => {
    bench = await registryBench({ registry: { url: proxy.url }, limits });
  };
  const requestsOf = (name: string): number => proxy.requests.filter(({ url }) => url === `/${name}`).length;
  const resolve = (name: string): Promise<ResolveResult> => bench.resolve({ dependencies: { [name]: '1' } });

  it('limits how many packages a source has', async () => {
    await start({ packages: 2 });
    expect(await bench.resolve({ dependencies: { 'needs-two': '1' } })).toMatchObject({
      ok: false,
      reason: 'PackageTooLarge',
      message: expect.stringContaining('3 packages'),
    });
  });

  it('refuses more dependencies than a source may have packages, whatever fields they are in, and asks nobody', async () => {
    await start({ packages: 4 });
    const manifest = {
      dependencies: { a: '1', b: '1' },
      optionalDependencies: { c: '1' },
      overrides: { 'needs-a': { a: '1' } },
    };
    expect(await bench.resolve(manifest, { specifiers: ['npm:needs-a@1'] })).toEqual({
      ok: false,
      reason: 'PackageTooLarge',
      message:
        'api/package.json: The source has 5 dependencies (all fields of package.json and npm: imports together), but at most 4 are allowed. Depend on fewer.',
      location: { file: 'api/package.json', line: 1, column: 1 },
      retry: false,
    });
    expect(installProcesses()).toEqual([]);
    expect(await bench.resolve(manifest)).toMatchObject({ ok: true });
  });

  it('refuses a lock with too many packages, and asks nobody', async () => {
    await start({ candidates: 2 });
    const entry = { version: '1.0.0', integrity: `sha512-${'A'.repeat(86)}==` };
    const folders = ['a', 'b', 'c'].map((name) => [`node_modules/${name}`, entry]);
    const lock = { lockfileVersion: 3, packages: Object.fromEntries(folders) as object };
    expect(await bench.resolve({ dependencies: { a: '1' } }, { lock })).toMatchObject({
      reason: 'PackageTooLarge',
      message: 'api/package.json: The lock has 3 packages, but at most 2 are allowed. Depend on fewer.',
    });
    expect(installProcesses()).toEqual([]);
  });

  it.each([
    ['dependencies', { 'needs-two': '1' }, 'The source needs more than 2 packages'],
    ['one package with many', { crowd: '1' }, 'crowd@1.0.0 needs 3 packages'],
  ])('stops a resolution that comes to too many packages: %s, optional ones as well', async (_of, all, message) => {
    await start({ candidates: 2 });
    const refused = {
      ok: false,
      reason: 'PackageTooLarge',
      retry: false,
      message: `api/package.json: ${message} (including those for other platforms), but at most 2 are allowed. Depend on fewer.`,
    };
    expect(await bench.resolve({ dependencies: all })).toMatchObject(refused);
    expect(await bench.resolve({ optionalDependencies: all })).toMatchObject(refused);
  });

  /** The metadata of a package: each of these objects takes some 50 bytes of memory, together three times the limit. */
  const bomb = gzipSync(`{"versions":{},"objects":[${'{},'.repeat(6 * 1024 * 1024)}{}]}`);

  it('does again, one after the other, what was under way: what ends it again fails for good, and nothing else', async () => {
    const names = ['bomb-1', 'a', 'b', 'bomb-2', 'c'];
    let most = 0;
    await start({ heapMiB: 96 });
    proxy.meddle = (request, response) => {
      const name = request.url?.slice(1) ?? '';
      most = Math.max(most, installProcesses().length);
      // At first nothing is answered until everything has been requested.
      const isUnderWay = requestsOf(name) === 1;
      if (isUnderWay && names.every((one) => requestsOf(one) > 0)) release();
      if (!name.startsWith('bomb')) return isUnderWay;
      const send = (): void => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      if (isUnderWay) void released.then(send);
      else send();
      return true;
    };
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const results = await Promise.all(names.map(resolve));
    expect(results.map((result) => result.ok)).toEqual([false, true, true, false, true]);
    for (const result of [results[0], results[3]]) {
      expect(result).toMatchObject({
        reason: 'InstallOutOfMemory',
        retry: false,
        message: expect.stringMatching(/^api\/package.json: The install process ended twice .* depend on fewer/),
      });
    }
    expect(names.map(requestsOf)).toEqual([2, 2, 2, 2, 2]);
    expect(most).toBe(1);
    expect(await resolve('a')).toMatchObject({ ok: true });
  }, 60_000);
});

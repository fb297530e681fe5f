import type { BuildRequest, BuildResult } from '@wherry/core/ports/builder.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { buildBench, type BuildBench, type Sources } from '../testing/build-bench.ts';
import { FakePackageRegistry } from '../testing/fake-package-registry.ts';

const NEVER = new AbortController().signal;
const HANDLER = "import a from 'npm:a';\nexport default () => a;\n";
const version = (v: string): Record<string, Record<string, string>> => ({
  'node_modules/a': { 'index.js': `module.exports = 'version ${v}';` },
});

describe('the packages of a build', () => {
  let registry: FakePackageRegistry;
  let bench: BuildBench;
  beforeEach(() => {
    registry = new FakePackageRegistry(version('1'));
    bench = buildBench({ packages: async () => registry });
  });
  afterEach(() => bench.builder.stop());

  async function build(request: BuildRequest): Promise<Extract<BuildResult, { ok: true }>> {
    const result = await bench.builder.build(request, NEVER);
    if (!result.ok) throw new Error(result.message);
    return result;
  }
  const api = (files: Record<string, string>): Sources => ({ api: files });

  it('are resolved once, and used again whatever the registry has by then, or without any', async () => {
    const request = await bench.request('api/h.ts', api({ 'h.ts': HANDLER }));
    const first = await build(request);
    expect(first.locks).toEqual(
      new Map([['api', { asks: registry.requirementsDigest(registry.resolved[0]!), lock: expect.any(String) }]]),
    );
    registry.publish(version('2'));
    const again = await bench.withLocks(request, first);
    const second = await build(again);
    expect(second.revision).toBe(first.revision);
    expect(second.locks).toEqual(first.locks);
    expect(registry.resolved).toHaveLength(1);
    expect((await build(request)).revision).not.toBe(first.revision);
  });

  it('are resolved again when the requirements change, from those that are known', async () => {
    const first = await build(await bench.request('api/h.ts', api({ 'h.ts': HANDLER })));
    const changed = await bench.request('api/h.ts', api({ 'h.ts': HANDLER.replace('npm:a', 'npm:a@1') }));
    await build(await bench.withLocks(changed, first));
    expect(registry.resolved).toHaveLength(2);
    expect(registry.resolved[1]).toMatchObject({
      base: first.locks?.get('api')?.lock,
      specifiers: [{ specifier: 'npm:a@1', file: 'api/h.ts', line: 1, column: 15 }],
    });
  });

  it('are resolved again when the lock is not stored any more', async () => {
    const request = await bench.request('api/h.ts', api({ 'h.ts': HANDLER }));
    await build(request);
    const asks = registry.requirementsDigest(registry.resolved[0]!);
    const result = await build({ ...request, locks: new Map([['api', [{ asks, lock: sha256('gone') }]]]) });
    expect(result.ok).toBe(true);
    expect(registry.resolved).toHaveLength(2);
  });

  it('are decided by package.json and its lock, which count as files of the build', async () => {
    const files = {
      'h.ts': HANDLER.replace('npm:', ''),
      'package.json': '{"dependencies":{"a":"1"}}',
      'package-lock.json': '{"lockfileVersion":3}',
      'npm-shrinkwrap.json': '{}',
    };
    const { inputs } = await build(await bench.request('api/h.ts', api(files)));
    expect(registry.resolved).toEqual([
      { source: 'api', specifiers: [], manifest: files['package.json'], lock: '{}', lockFile: 'npm-shrinkwrap.json' },
    ]);
    expect(inputs.map(({ path }) => path)).toEqual(expect.arrayContaining(['h.ts', 'package.json']));
  });

  it('are kept when the code is wrong: the next try requires the same', async () => {
    const request = await bench.request(
      'api/h.ts',
      api({ 'h.ts': `import { gone } from './b.js';\n${HANDLER}console.log(gone);`, 'b.js': 'export const here = 1;' }),
    );
    const broken = await bench.builder.build(request, NEVER);
    expect(broken).toMatchObject({ ok: false, reason: 'ImportNotFound' });
    expect(broken.locks?.get('api')).toBeDefined();
  });

  it('that cannot be used end the build, named by their import', async () => {
    registry.fail({
      reason: 'PackageNotFound',
      message: 'api/h.ts: the registry has no package a',
      location: { file: 'api/h.ts', line: 1, column: 15 },
      retry: false,
    });
    const result = await bench.builder.build(await bench.request('api/h.ts', api({ 'h.ts': HANDLER })), NEVER);
    expect(result).toMatchObject({
      ok: false,
      reason: 'PackageNotFound',
      message: expect.stringContaining('no package a'),
      location: { line: 1 },
      retry: false,
    });
  });

  it('B1: 20,000 modules in a package end typed', async () => {
    // With its package.json and the handler: as many as a tarball may hold.
    const count = 19_999;
    const imports = (n: number): string =>
      [1, 2, 3, 4]
        .map((k) => 4 * n + k)
        .filter((child) => child < count)
        .map((child) => `import './m${child}.js';`)
        .join('');
    registry.publish({
      'node_modules/a': {
        'package.json': '{"name":"a","version":"1.0.0","type":"module","main":"m0.js"}',
        ...Object.fromEntries(
          Array.from({ length: count - 1 }, (_, n) => [`m${n}.js`, `${imports(n)}\nglobalThis.n = ${n};`]),
        ),
        [`m${count - 1}.js`]: '',
      },
    });
    const result = await bench.builder.build(
      await bench.request('api/h.ts', api({ 'h.ts': "import 'npm:a';\nexport default 1;" })),
      NEVER,
    );
    expect(result.ok || ['BuildTimeout', 'BuildOutOfMemory'].includes(result.reason)).toBe(true);
  }, 90_000);
});

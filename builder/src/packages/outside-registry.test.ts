import { registryBench } from './testing/registry-bench.ts';
import { unpackTarball } from './unpack-tarball.ts';

const NEVER = new AbortController().signal;

describe('createPackageRegistry, with the registry of npm', () => {
  it('resolves and fetches over TLS, with the certificates of this system', async () => {
    const bench = await registryBench({ registry: {} });
    const lock = await bench.lock({ dependencies: { 'is-number': '7.0.0' } }, { specifiers: ['npm:is-odd@3.0.1'] });
    expect(bench.versions(lock)).toMatchObject({
      'is-number': 'is-number@7.0.0',
      'is-odd': 'is-odd@3.0.1',
      'is-odd/is-number': 'is-number@6.0.0',
    });
    const { integrity } = bench.packages.layout(lock).packages['node_modules/is-number']!;
    expect(integrity).toBe(
      'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
    );
    expect([...(await unpackTarball(await bench.packages.tarball(integrity, lock, NEVER))).keys()]).toContain(
      'index.js',
    );
    await bench.stop();
  });
});

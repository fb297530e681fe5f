import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { installProcesses, registryBench, type RegistryBench } from './testing/registry-bench.ts';
import { makeTar } from './testing/make-tarball.ts';
import { startTestRegistry, type TestRegistry } from './testing/test-registry.ts';
import { unpackTarball } from './unpack-tarball.ts';

const NEVER = new AbortController().signal;

describe('createPackageRegistry, with a real registry', () => {
  let registry: TestRegistry;
  let bench: RegistryBench;

  beforeAll(async () => {
    registry = await startTestRegistry();
    const publish = (name: string, version: string, more: object = {}): Promise<string> =>
      registry.publish({ name, version, ...more });
    await publish('alone', '1.0.0');
    await publish('alone', '1.1.0');
    await publish('alone', '2.0.0');
    await publish('old-user', '1.0.0', { dependencies: { alone: '^1.0.0' } });
    await publish('@scope/inner', '3.0.0', { dependencies: { 'old-user': '*' } });
    await publish('host', '1.0.0');
    await publish('host', '2.0.0');
    await publish('plugin', '1.0.0', { peerDependencies: { host: '^1.0.0' } });
    await publish('other-plugin', '1.0.0', { peerDependencies: { host: '^2.0.0' } });
    await publish('bundler', '1.0.0', { dependencies: { alone: '^1.0.0' }, bundleDependencies: ['alone'] });
    await publish('native-linux', '1.0.0', { os: ['linux'], cpu: ['x64'] });
    await publish('with-native', '1.0.0', {
      optionalDependencies: { 'native-linux': '1.0.0', 'not-there': '1.0.0', alone: '1.0.0' },
    });
    await publish('@private/secret', '1.0.0');
  }, 60_000);
  afterAll(() => registry.stop());
  beforeEach(async () => {
    bench = await registryBench({ registry: { url: registry.url } });
  });
  afterEach(() => bench.stop());

  it('resolves a manifest without a lock, nested versions and scopes included', async () => {
    const lock = await bench.lock({
      dependencies: { alone: '^2.0.0', '@scope/inner': '3.x' },
      devDependencies: { 'not-there': '1' },
    });
    expect(bench.versions(lock)).toEqual({
      alone: 'alone@2.0.0',
      '@scope/inner': '@scope/inner@3.0.0',
      'old-user': 'old-user@1.0.0',
      'old-user/alone': 'alone@1.1.0',
    });
    expect(lock).not.toContain('127.0.0.1');
  });

  it('gives the very tarball, and no file of it lies on the disk unpacked', async () => {
    const lock = await bench.lock({ dependencies: { alone: '1.0.0' } });
    const { integrity } = bench.packages.layout(lock).packages['node_modules/alone']!;
    const files = await unpackTarball(await bench.packages.tarball(integrity, lock, NEVER));
    expect(Buffer.from(files.get('index.js')!).toString()).toBe('module.exports = "alone@1.0.0";\n');
    expect(await readdir(bench.directory, { recursive: true })).toEqual([
      'tarballs',
      expect.stringMatching(/^tarballs\/sha512-[0-9a-f]{128}$/),
    ]);
  });

  it('brings peers along, and says which of them do not go together', async () => {
    expect(bench.versions(await bench.lock({ dependencies: { plugin: '1' } }))).toEqual({
      plugin: 'plugin@1.0.0',
      host: 'host@1.0.0',
    });
    expect(await bench.resolve({ dependencies: { plugin: '1', 'other-plugin': '1' } })).toMatchObject({
      ok: false,
      reason: 'PackageConflict',
      retry: false,
      message:
        'api/package.json: plugin@1.0.0 needs host@^1.0.0 beside it, but other-plugin@1.0.0 needs host@2.0.0. Choose compatible versions.',
    });
  });

  it('answers npm: specifiers, each from the folder that the layout names', async () => {
    const lock = await bench.lock(undefined, {
      specifiers: ['npm:alone@1', 'npm:alone@^2.0.0/sub.js', 'npm:alone', 'npm:@scope/inner@3.0.0/x'],
    });
    const { folders, packages } = bench.packages.layout(lock);
    const versions = Object.fromEntries(
      Object.entries(folders).map(([spec, folder]) => [spec, packages[`node_modules/${folder}`]?.version]),
    );
    expect(versions).toEqual({
      'alone@1': '1.1.0',
      'alone@^2.0.0': '2.0.0',
      alone: '1.1.0',
      '@scope/inner@3.0.0': '3.0.0',
    });
    expect(folders['alone@1']).toBe('alone');
  });

  it('has one copy where two ranges come to one version', async () => {
    const lock = await bench.lock(
      { dependencies: { alone: '^1.0.0' } },
      { specifiers: ['npm:alone@1.1', 'npm:alone@1.0.0'] },
    );
    const { folders } = bench.packages.layout(lock);
    expect(folders['alone@1.1']).toBe('alone');
    expect(folders['alone@1.0.0']).not.toBe('alone');
  });

  it('gives the same lock for the same requirements, and keeps versions that still fit when they change', async () => {
    const base = await bench.lock({ dependencies: { alone: '1.0.0', 'old-user': '1' } });
    expect(await bench.lock({ dependencies: { 'old-user': '1', alone: '1.0.0' } })).toBe(base);
    const changed = { dependencies: { alone: '^1.0.0', host: '1', 'old-user': '1' } };
    expect(bench.versions(await bench.lock(changed, { base }))['alone']).toBe('alone@1.0.0');
    expect(bench.versions(await bench.lock(changed))['alone']).toBe('alone@1.1.0');
  });

  it('leaves machine code and absent optional packages out, and says what is optional', async () => {
    const lock = await bench.lock({ dependencies: { 'with-native': '1' } });
    expect(bench.packages.layout(lock).packages).toEqual({
      'node_modules/alone': expect.objectContaining({ version: '1.0.0', optional: true }),
      'node_modules/with-native': expect.not.objectContaining({ optional: true }),
    });
    expect(await bench.lock({ dependencies: { 'with-native': '1' } }, { base: lock })).toBe(lock);
  });

  it('leaves bundled dependencies to the tarball that holds them', async () => {
    expect(bench.versions(await bench.lock({ dependencies: { bundler: '1' } }))).toEqual({ bundler: 'bundler@1.0.0' });
  });

  describe("with an author's lock", () => {
    const manifest = { dependencies: { 'old-user': '^1.0.0' } };
    let foreign: { lockfileVersion: number; packages: Record<string, Record<string, unknown>> };

    beforeEach(async () => {
      const { packages } = bench.packages.layout(
        await bench.lock({ dependencies: { 'old-user': '1.0.0', alone: '1.0.0' } }),
      );
      foreign = {
        lockfileVersion: 3,
        packages: {
          '': manifest,
          'node_modules/old-user': {
            version: '1.0.0',
            resolved: 'https://elsewhere.example/x.tgz',
            integrity: packages['node_modules/old-user']!.integrity,
            dependencies: { alone: '^1.0.0' },
          },
          'node_modules/alone': { version: '1.0.0', integrity: packages['node_modules/alone']!.integrity },
          'node_modules/tool': { version: '1.0.0', dev: true, resolved: 'git+ssh://git@example.com/tool.git#0' },
        },
      };
    });

    it('takes its versions, not newer ones, from the configured registry, without development packages', async () => {
      const lock = await bench.lock(manifest, { lock: foreign });
      expect(bench.versions(lock)).toEqual({ 'old-user': 'old-user@1.0.0', alone: 'alone@1.0.0' });
      const { integrity } = bench.packages.layout(lock).packages['node_modules/old-user']!;
      expect((await bench.packages.tarball(integrity, lock, NEVER)).length).toBeGreaterThan(0);
    });

    it('adds what specifiers require, and does not let them change it', async () => {
      expect(bench.versions(await bench.lock(manifest, { lock: foreign, specifiers: ['npm:host@1'] }))).toEqual({
        'old-user': 'old-user@1.0.0',
        alone: 'alone@1.0.0',
        host: 'host@1.0.0',
      });
      const lock = await bench.lock(manifest, {
        lock: foreign,
        specifiers: ['npm:alone@2', 'npm:alone@1', 'npm:alone'],
      });
      const { folders, packages } = bench.packages.layout(lock);
      expect(bench.versions(lock)).toMatchObject({ 'old-user': 'old-user@1.0.0', alone: 'alone@1.0.0' });
      expect(folders).toMatchObject({ alone: 'alone', 'alone@1': 'alone' });
      expect(packages[`node_modules/${folders['alone@2']!}`]?.version).toBe('2.0.0');
    });

    it.each([
      [{ dependencies: { 'old-user': '^1.0.0', host: '^1.0.0' } }, 'Missing: host@^1.0.0 from lock file'],
      [
        { dependencies: { 'old-user': '^2.0.0' } },
        "Invalid: lock file's old-user@1.0.0 does not satisfy old-user@^2.0.0",
      ],
    ])('says which package of a manifest %j the lock does not have', async (changed, message) => {
      expect(await bench.resolve(changed, { lock: foreign })).toMatchObject({
        ok: false,
        reason: 'LockOutdated',
        retry: false,
        message: expect.stringContaining(message),
      });
    });

    it('B3: takes no tarball that differs from the lock', async () => {
      foreign.packages['node_modules/alone']!['integrity'] = `sha512-${Buffer.alloc(64).toString('base64')}`;
      const lock = await bench.lock(manifest, { lock: foreign });
      await expect(
        bench.packages.tarball(foreign.packages['node_modules/alone']!['integrity'] as string, lock, NEVER),
      ).rejects.toMatchObject({ reason: 'PackageCorrupt', message: expect.stringContaining('alone@1.0.0') });
    });
  });

  describe('B3', () => {
    it('runs no install script', async () => {
      const mark = path.join(bench.directory, 'mark');
      const scripts = Object.fromEntries(
        ['preinstall', 'install', 'postinstall', 'prepare'].map((name) => [name, `touch ${mark}`]),
      );
      await registry.publish({
        name: 'scripted',
        version: '1.0.0',
        scripts,
        hasInstallScript: true,
        files: { 'binding.gyp': '{}' },
      });
      const lock = await bench.lock({ dependencies: { scripted: '1.0.0' }, scripts });
      await bench.packages.tarball(
        bench.packages.layout(lock).packages['node_modules/scripted']!.integrity,
        lock,
        NEVER,
      );
      expect(await readdir(bench.directory)).toEqual(['tarballs']);
    });

    it.each(['git+https://127.0.0.1:1/x.git', 'http://127.0.0.1:1/x.tgz', 'file:../../etc', 'github:a/b', 'link:../x'])(
      'refuses %s that a package of the registry needs, by name',
      async (spec) => {
        const name = `needs-${Buffer.from(spec).toString('hex').slice(0, 40)}`;
        await registry.publish({ name, version: '1.0.0', dependencies: { evil: spec } });
        expect(await bench.resolve({ dependencies: { [name]: '1.0.0' } })).toMatchObject({
          ok: false,
          reason: 'PackageRefused',
          retry: false,
          message: expect.stringMatching(new RegExp(`${name}@1.0.0 .*evil`)),
        });
      },
    );

    it('does without optional packages that are not from the registry', async () => {
      await registry.publish({
        name: 'wants-git',
        version: '1.0.0',
        optionalDependencies: { evil: 'git+https://127.0.0.1:1/x.git' },
      });
      expect(bench.versions(await bench.lock({ dependencies: { 'wants-git': '1.0.0' } }))).toEqual({
        'wants-git': 'wants-git@1.0.0',
      });
    });

    it('gives the install process nothing but its folder: no environment, no right to files, programs or threads', async () => {
      await bench.lock({ dependencies: { alone: '1.0.0' } });
      const [pid] = installProcesses();
      expect((await readFile(`/proc/${pid!}/environ`, 'utf8')).split('\0').filter(Boolean)).toEqual([
        expect.stringMatching(/^PATH=.*\/wherry-install-[^/]*$/),
      ]);
      const flags = (await readFile(`/proc/${pid!}/cmdline`, 'utf8'))
        .split('\0')
        .filter((flag) => flag.startsWith('--'));
      expect(flags).toContain('--permission');
      expect(flags.filter((flag) => flag.startsWith('--allow'))).toEqual([
        expect.stringMatching(/^--allow-fs-read=\S*\/wherry-install-\w+$/),
        expect.stringMatching(/^--allow-fs-write=\S*\/wherry-install-\w+$/),
      ]);
    });

    it('unpacks no entry that leaves its package', async () => {
      const tarball = gzipSync(makeTar([{ path: 'package/../../../etc/cron.d/x', content: 'x' }]));
      await registry.publish({ name: 'climber', version: '1.0.0', tarball });
      const lock = await bench.lock({ dependencies: { climber: '1.0.0' } });
      const bytes = await bench.packages.tarball(
        bench.packages.layout(lock).packages['node_modules/climber']!.integrity,
        lock,
        NEVER,
      );
      await expect(unpackTarball(bytes)).rejects.toThrow('outside the package');
    });
  });

  it('has private packages with a token, which is in no argument and no variable, and says so without one', async () => {
    const token = await registry.token();
    const trusted = await registryBench({ registry: { url: registry.url, token } });
    try {
      const lock = await trusted.lock({ dependencies: { '@private/secret': '1.0.0' } });
      await trusted.packages.tarball(
        trusted.packages.layout(lock).packages['node_modules/@private/secret']!.integrity,
        lock,
        NEVER,
      );
      for (const pid of installProcesses()) {
        const visible = await Promise.all(
          ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
        );
        expect(visible.join()).not.toContain(token);
      }
    } finally {
      await trusted.stop();
    }
    expect(await bench.resolve({ dependencies: { '@private/secret': '1.0.0' } })).toMatchObject({
      ok: false,
      reason: 'RegistryUnavailable',
      retry: true,
      message: expect.stringContaining('401'),
    });
  });

  it('says which package of which file is not there', async () => {
    expect(await bench.resolve({ dependencies: { alone: '1', 'not-there': '1' } })).toEqual({
      ok: false,
      reason: 'PackageNotFound',
      message: 'api/package.json: The registry has no package not-there.',
      location: { file: 'api/package.json', line: 4, column: 5 },
      retry: false,
    });
    expect(await bench.resolve(undefined, { specifiers: ['npm:host', 'npm:alone@^7'] })).toEqual({
      ok: false,
      reason: 'PackageNotFound',
      message: 'api/main.ts: The registry has no version of alone that satisfies "^7". The latest is 2.0.0.',
      location: { file: 'api/main.ts', line: 2, column: 8 },
      retry: false,
    });
  });

  it('does many things at once, over one process', async () => {
    const manifests = [
      { dependencies: { alone: '1' } },
      { dependencies: { plugin: '1' } },
      { dependencies: { '@scope/inner': '3' } },
    ];
    const together = await Promise.all(manifests.map((manifest) => bench.lock(manifest)));
    expect(installProcesses()).toHaveLength(1);
    expect(await Promise.all(manifests.map((manifest) => bench.lock(manifest)))).toEqual(together);
  });

  it('does again what was under way when the install process was killed', async () => {
    await bench.lock({ dependencies: { host: '1' } });
    const [first] = installProcesses();
    process.kill(first!, 'SIGSTOP');
    const stuck = bench.resolve({ dependencies: { alone: '1' } });
    process.kill(first!, 'SIGKILL');
    expect(await stuck).toMatchObject({ ok: true });
    expect(installProcesses()).not.toContain(first);
  });

  it('ends the process that does not react within the time limit', async () => {
    await bench.stop();
    const clock = new FakeClock();
    bench = await registryBench({ registry: { url: registry.url }, clock, limits: { timeoutMs: 1500 } });
    await bench.lock({ dependencies: { host: '1' } });
    const [pid] = installProcesses();
    process.kill(pid!, 'SIGSTOP');
    const stuck = bench.resolve({ dependencies: { alone: '1' } });
    // What counted until then was how long the process has had nothing to do.
    await eventually(() => expect(clock.pending).toBe(1));
    await clock.advance(1500);
    expect(await stuck).toMatchObject({ ok: false, reason: 'InstallTimeout', retry: true });
    // It is called off first, and killed where that does not help.
    await clock.advance(5000);
    await eventually(() => expect(installProcesses()).toEqual([]));
  });

  it('fetches a tarball again that is damaged in the cache', async () => {
    const lock = await bench.lock({ dependencies: { alone: '1.0.0' } });
    const { integrity } = bench.packages.layout(lock).packages['node_modules/alone']!;
    const whole = await bench.packages.tarball(integrity, lock, NEVER);
    const [name] = await readdir(path.join(bench.directory, 'tarballs'));
    const file = path.join(bench.directory, 'tarballs', name!);
    await writeFile(file, Buffer.alloc(whole.length));
    expect(await bench.packages.tarball(integrity, lock, NEVER)).toEqual(whole);
    await truncate(file, 10);
    expect(await bench.packages.tarball(integrity, lock, NEVER)).toEqual(whole);
    expect(await readFile(file)).toEqual(whole);
  });
});

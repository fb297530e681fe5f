import { requirementsDigest, readRequirements } from './requirements.ts';
import type { ResolveRequest } from './package-registry.ts';

const INTEGRITY = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
const requestOf = (manifest: object, lock?: object, specifiers: string[] = []): ResolveRequest => ({
  source: 'api',
  manifest: JSON.stringify(manifest, undefined, 2),
  ...(lock && { lock: JSON.stringify(lock, undefined, 2) }),
  specifiers: specifiers.map((specifier) => ({ specifier, file: 'api/a.ts', line: 3, column: 4 })),
});
const lockOf = (folder: string, entry: object): object => ({
  lockfileVersion: 3,
  packages: { '': {}, [folder]: entry },
});

describe('readAsks', () => {
  it.each([
    [{ dependencies: { evil: 'file:../../etc' } }, 'evil in dependencies cannot be used: "file:../../etc" is a folder'],
    [{ dependencies: { evil: 'file:x.tgz' } }, 'is a file'],
    [{ dependencies: { evil: '../evil' } }, 'is a folder'],
    [{ dependencies: { evil: '/evil' } }, 'is a folder'],
    [{ dependencies: { evil: 'git+https://example.com/evil.git' } }, 'is a git repository'],
    [{ dependencies: { evil: 'git@github.com:a/b.git' } }, 'is a git repository'],
    [{ dependencies: { evil: 'git+ssh://git@example.com/a' } }, 'is a git repository'],
    [{ dependencies: { evil: 'owner/evil' } }, 'is a git repository'],
    [
      { optionalDependencies: { evil: 'https://example.com/evil.tgz' } },
      'evil in optionalDependencies cannot be used: "https://example.com/evil.tgz" is a URL',
    ],
    [{ peerDependencies: { evil: 'github:owner/evil' } }, 'evil in peerDependencies'],
    [{ dependencies: { evil: 'link:../evil' } }, 'a protocol that only other package managers support'],
    [{ dependencies: { evil: 'workspace:*' } }, 'a protocol that only other package managers support'],
    [{ dependencies: { evil: 'npm:x@file:../y' } }, 'aliases only work for registry deps'],
    [{ dependencies: { a: '1' }, overrides: { a: { evil: 'file:x' } } }, 'evil in overrides cannot be used'],
    [
      { dependencies: { a: '1' }, overrides: { 'evil@^1': { '.': 'git+ssh://example.com/x' } } },
      'evil in overrides cannot be used',
    ],
    [{ devDependencies: { evil: 'file:x' }, overrides: { evil: '$evil' } }, 'evil in overrides cannot be used'],
    [{ workspaces: ['packages/*'] }, '"workspaces" is not supported'],
  ])('B3: refuses the manifest %j by name', (manifest, message) => {
    expect(readRequirements(requestOf(manifest))).toEqual({
      failure: {
        reason: 'PackageRefused',
        retry: false,
        message: expect.stringContaining(message),
        location: { file: 'api/package.json', line: expect.any(Number), column: expect.any(Number) },
      },
    });
  });

  it.each([
    ['node_modules/evil', { version: '1.0.0' }, 'the lock has no integrity hash for it'],
    [
      'node_modules/evil',
      { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
      'its integrity hash is not SHA-512',
    ],
    ['node_modules/evil', { version: '1.0.0', integrity: 'sha512-short' }, 'its integrity hash is not SHA-512'],
    [
      'node_modules/evil',
      { version: '1.0.0', integrity: INTEGRITY, resolved: 'git+ssh://git@github.com/a/b.git#1234' },
      'it comes from git+ssh:',
    ],
    [
      'node_modules/evil',
      { version: '1.0.0', integrity: INTEGRITY, resolved: 'file:../evil.tgz' },
      'it comes from file:',
    ],
    ['node_modules/evil', { resolved: '../evil', link: true }, 'it is a link to a folder'],
    ['node_modules/a/node_modules/evil', { version: 'file:../evil', integrity: INTEGRITY }, 'is not a version'],
    ['packages/evil', { version: '1.0.0', integrity: INTEGRITY }, 'it is a folder of the project'],
    ['node_modules/../../evil', { version: '1.0.0', integrity: INTEGRITY }, 'cannot be used'],
    [
      'node_modules/evil',
      { version: '1.0.0', integrity: INTEGRITY, dependencies: { worse: 'git+https://example.com/w.git' } },
      'it needs worse: ',
    ],
  ])('B3: refuses a lock with %s %j by name', (folder, entry, message) => {
    const { failure } = readRequirements(requestOf({}, lockOf(folder, entry))) as {
      failure: { reason: string; message: string };
    };
    expect(failure).toMatchObject({
      reason: 'PackageRefused',
      message: expect.stringContaining(`api/package-lock.json: ${folder} `),
      retry: false,
    });
    expect(failure.message).toContain(message);
  });

  it.each([
    ['{ "dependencies": ', 'api/package.json is not JSON'],
    ['{ "dependencies": { "a": 1 } }', 'dependencies.a must be a string, not a number'],
    ['[]', 'the file must be an object, not a list'],
  ])('says what is wrong with the manifest %s', (manifest, message) => {
    expect(readRequirements({ ...requestOf({}), manifest })).toMatchObject({
      failure: { reason: 'ManifestInvalid', message: expect.stringContaining(message) },
    });
  });

  it('says which lock is too old', () => {
    expect(readRequirements(requestOf({}, { lockfileVersion: 1, dependencies: {} }))).toMatchObject({
      failure: { reason: 'ManifestInvalid', message: expect.stringContaining('has lockfileVersion 1') },
    });
  });

  it.each([
    ['npm:', 'names no package'],
    ['npm:evil@file:..', 'cannot be used'],
    ['npm:evil@git+https://example.com/a.git', 'only packages from the registry are accepted'],
    ['npm:evil@https://example.com/a.tgz', 'is a URL, and only packages from the registry are accepted'],
    ['npm:../evil', 'cannot be used'],
    ['npm:@scope', 'names no package'],
    ['npm:UPPER CASE', 'cannot be used'],
  ])('refuses the specifier %s where it stands', (specifier, message) => {
    expect(readRequirements(requestOf({}, undefined, [specifier]))).toEqual({
      failure: {
        reason: 'PackageRefused',
        retry: false,
        message: expect.stringContaining(message),
        location: { file: 'api/a.ts', line: 3, column: 4 },
      },
    });
  });

  it('does not look at what is for development, published or run', () => {
    const manifest = {
      name: 'x',
      scripts: { install: 'x' },
      devDependencies: { a: 'file:..' },
      bundleDependencies: ['a'],
      dependencies: { ok: '^1.0.0', alias: 'npm:@s/b@2', latest: 'latest', any: '' },
    };
    expect(readRequirements(requestOf(manifest))).toMatchObject({
      plan: { root: { dependencies: manifest.dependencies } },
    });
  });

  it('reads specifiers as Deno and npm write them', () => {
    const { plan } = readRequirements(
      requestOf({ dependencies: { own: '^1.0.0' } }, undefined, [
        'npm:own',
        'npm:own@^1.0.0/sub',
        'npm:own@2',
        'npm:/free@1/a/b.js',
        'npm:@s/scoped',
        'npm:constructor@1',
      ]),
    ) as Extract<ReturnType<typeof readRequirements>, { plan: unknown }>;
    const alias = plan.folders['own@2']!;
    expect(plan.folders).toEqual({
      own: 'own',
      'own@^1.0.0': 'own',
      'own@2': alias,
      'free@1': 'free',
      '@s/scoped': '@s/scoped',
      'constructor@1': 'constructor',
    });
    expect(plan.root.dependencies).toEqual({
      own: '^1.0.0',
      [alias]: 'npm:own@2',
      free: '1',
      '@s/scoped': '*',
      constructor: '1',
    });
  });
});

describe('asksOf', () => {
  const before = requirementsDigest(requestOf({ dependencies: { a: '1' } }, undefined, ['npm:b@1', 'npm:c']));

  it('stays when nothing of it changes: the place and order of imports, and what else is in the manifest', () => {
    const moved = requestOf({ version: '2.0.0', scripts: { test: 'x' }, dependencies: { a: '1' } }, undefined, [
      'npm:c',
      'npm:b@1/sub',
      'npm:b@1',
    ]);
    expect(requirementsDigest({ ...moved, base: '{}' })).toBe(before);
  });

  it.each([
    requestOf({ dependencies: { a: '2' } }, undefined, ['npm:b@1', 'npm:c']),
    requestOf({ dependencies: { a: '1' } }, undefined, ['npm:b@2', 'npm:c']),
    requestOf({ dependencies: { a: '1' } }, undefined, ['npm:b@1']),
    requestOf({ dependencies: { a: '1' } }, { lockfileVersion: 3 }, ['npm:b@1', 'npm:c']),
    requestOf({ dependencies: { a: '1' }, overrides: { x: '1' } }, undefined, ['npm:b@1', 'npm:c']),
  ])('changes with what is required (%#)', (changed) => {
    expect(requirementsDigest(changed)).not.toBe(before);
  });
});

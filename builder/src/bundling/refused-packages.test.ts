import * as esbuild from 'esbuild';
import { bundleFiles } from '../testing/bundle-files.ts';
import { FakePackageRegistry, type Packages } from '../testing/fake-package-registry.ts';
import { A, artifactOf, failureOf, MANIFEST, value } from '../testing/package-builds.ts';
import { runArtifact } from '../testing/run-artifact.ts';

/*
 * What a build refuses about packages, and what looks like it and is not refused.
 */

const json = JSON.stringify;

afterAll(() => esbuild.stop());

describe('what packages may do without being refused', () => {
  it('imports that cannot be resolved fail when they are reached, and not before', async () => {
    expect(
      await value("import o from 'npm:o'; export default () => o();", {
        'node_modules/o': {
          'index.js': `
      const tried = []; const attempt = (f) => { try { f(); tried.push('there'); } catch (error) { tried.push(error.code); } };
      attempt(() => require('not-installed')); attempt(() => require('not-installed/sub')); attempt(() => require('./gone.js')); attempt(() => require('cloudflare:sockets'));
      const name = './x'; attempt(() => require(name)); attempt(() => require('./locale/' + name)); attempt(() => require(\`./\${name}.js\`)); attempt(() => module.require('./l/' + name));
      tried.push(require('pa' + 'th').sep);
      module.exports = async () => { await import('gone-too').catch((error) => tried.push(error.code)); await import('./l/' + name + '.js').catch((error) => tried.push(error.code)); return tried; };`,
        },
      }),
    ).toEqual([...Array(7).fill('MODULE_NOT_FOUND'), null, '/', 'MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND']);
  });

  it('computed imports leave the literal ones and the lines of their file alone', async () => {
    const code =
      "'use strict';\r\n/* é */ const { a } = require('./a'), f = (n) => require('./l/' + n), é = require; exports.strict = (function () { return this; })();\u2028exports.f = (n) => import(`./l/${n}`); exports.a = a;\nexports.fail = () => {\n  throw new Error('oh');\n};\n";
    const packages = { 'node_modules/c': { 'index.js': code, 'a.js': "exports.a = 'literal';" } };
    expect(await value("import c from 'npm:c'; export default () => [c.a, c.strict === undefined];", packages)).toEqual(
      ['literal', true],
    );
    const { stack } = runArtifact(
      await artifactOf({ 'h.ts': "import c from 'npm:c'; export default () => c.fail();" }, packages),
    );
    expect(stack).toMatch(/node_modules\/c\/index\.js:[56]:9/);
  });

  it('a native add-on that is optional, or whose failure is caught, does not hinder', async () => {
    const native = { 'index.js': "module.exports = require('./build/Release/x.node');" };
    const packages = {
      'node_modules/n': {
        'index.js':
          "let native = 'js'; try { native = require('optional-native'); } catch {} try { native = require('./crypto.node'); } catch {} module.exports = native;",
      },
      'node_modules/optional-native': native,
    };
    const result = await bundleFiles(
      'api/h.ts',
      { api: { 'h.ts': "import n from 'npm:n'; export default () => n;" } },
      new FakePackageRegistry(packages, { optional: ['node_modules/optional-native'] }),
    );
    expect('artifact' in result && runArtifact(result.artifact).value).toBe('js');
  });
});

type Refused = [line: string, files: Record<string, string>, reason: string, column: number, says: string];

describe('what is refused about packages', () => {
  it.each<Refused>([
    [
      "import x from 'a';",
      {},
      'ImportNotFound',
      15,
      'source api has no package.json that lists a. Add one, or import "npm:a"',
    ],
    [
      "import x from 'gone';",
      MANIFEST,
      'ImportNotFound',
      15,
      'gone is not among the dependencies of api/package.json. Add it there, or import "npm:gone"',
    ],
    [
      "import x from 'dev/sub';",
      { 'package.json': json({ devDependencies: { dev: '1' } }) },
      'ImportNotFound',
      15,
      'dev is among the devDependencies of api/package.json. Move it',
    ],
    ["import x from 'a/gone';", MANIFEST, 'ImportNotFound', 15, 'a 1.0.0: it has no such file'],
    ["import x from 'npm:a/gone';", {}, 'ImportNotFound', 15, 'a 1.0.0: it has no such file'],
    [
      "import x from 'npm:closed/inner';",
      {},
      'ImportNotFound',
      15,
      'closed 1.0.0: "./inner" is not exported under the conditions',
    ],
    ["import { gone } from 'npm:esm';", {}, 'ImportNotFound', 10, '"gone"'],
    ["import x from '#gone';", MANIFEST, 'ImportNotFound', 15, '#gone'],
    ["import x from 'npm:';", {}, 'PackageRefused', 15, 'npm:<name>@<version>'],
    ["import x from 'npm:a@file:../x';", {}, 'PackageRefused', 15, 'only packages from the registry'],
    ["import x from 'npm:a@https://x.test/a.tgz';", {}, 'PackageRefused', 15, 'cannot be used'],
    ["import x from 'jsr:@std/path';", MANIFEST, 'ImportNotSupported', 15, 'not fetched from the network'],
    ['const f = (x) => import(x);', MANIFEST, 'ImportNotSupported', 18, 'only a literal path'],
    [
      "import x from 'npm:native';",
      {},
      'ImportNotSupported',
      15,
      'api/node_modules/native/lib/i.js:2:26: The package native is a native add-on, which cannot run here',
    ],
    ["import x from 'npm:gyp';", {}, 'ImportNotSupported', 15, 'The package gyp is a native add-on'],
    ["import x from 'npm:user';", {}, 'ImportNotSupported', 15, 'The package native is a native add-on'],
    [
      "import x from 'npm:peer';",
      {},
      'ImportNotFound',
      15,
      'api/node_modules/peer/i.mjs:1:8: Cannot import "missing-peer" in peer 1.0.0: there is no package missing-peer',
    ],
    ["import x from 'npm:broken';", {}, 'SyntaxError', 15, 'api/node_modules/broken/index.js:2:11: '],
  ])('%s', async (line, files, ...[reason, column, says]) => {
    const packages: Packages = {
      ...A,
      'node_modules/closed': {
        'package.json': json({ name: 'closed', version: '1.0.0', exports: { '.': './i.js' } }),
        'i.js': '',
        'inner.js': '',
      },
      'node_modules/esm': { 'package.json': json({ type: 'module' }), 'index.js': 'export const here = 1;' },
      'node_modules/native': {
        'package.json': json({ main: 'lib/i.js' }),
        'lib/i.js': "\nmodule.exports = require('../build/native.node');",
      },
      'node_modules/gyp': { 'index.js': "module.exports = require('node-gyp-build')(__dirname);" },
      'node_modules/node-gyp-build': {},
      'node_modules/user': { 'index.js': "exports.n = require('native');" },
      'node_modules/peer': { 'package.json': json({ main: 'i.mjs' }), 'i.mjs': "import 'missing-peer';" },
      'node_modules/broken': { 'index.js': "// é\nvar ' = 1;" },
    };
    const failure = await failureOf({ 'h.js': `\n${line}\nexport default () => x;\n`, ...files }, packages, 'h.js');
    expect(failure).toEqual({
      reason,
      message: expect.stringContaining(says),
      location: { file: 'api/h.js', line: 2, column },
    });
    expect(failure).toMatchObject({ message: expect.stringMatching(/^api\/h\.js:2:\d+: [^\n]*$/) });
  });

  it('other errors are reported before any request to a registry', async () => {
    const registry = new FakePackageRegistry(A);
    expect(
      await failureOf({ 'h.ts': "import a from 'npm:a';\nimport './gone.ts';\nexport default a;" }, registry),
    ).toMatchObject({ reason: 'ImportNotFound', location: { line: 2 } });
    expect(registry.resolved).toEqual([]);
  });

  it('a tarball that cannot be used names its package', async () => {
    const registry = new FakePackageRegistry(A);
    registry.tarball = async () => Buffer.from('no tarball');
    expect(await failureOf({ 'h.ts': "import a from 'npm:a';\nexport default a;" }, registry)).toMatchObject({
      reason: 'PackageCorrupt',
      message: expect.stringContaining('a 1.0.0'),
      location: { file: 'api/h.ts', line: 1, column: 15 },
    });
  });
});

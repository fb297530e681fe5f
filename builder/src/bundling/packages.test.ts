import * as esbuild from 'esbuild';
import { bundleFiles, type SourceTexts } from '../testing/bundle-files.ts';
import { FakePackageRegistry } from '../testing/fake-package-registry.ts';
import { A, artifactOf, MANIFEST, run, value } from '../testing/package-builds.ts';
import { runArtifact } from '../testing/run-artifact.ts';

const json = JSON.stringify;

afterAll(() => esbuild.stop());

describe('packages in a build', () => {
  it.each([
    ["import a from 'a'; export default () => a;", 'a'],
    ["import { sub } from 'a/sub'; export default () => sub;", 'a/sub'],
    ["import { sub } from 'a/sub.js'; export default () => sub;", 'a/sub'],
    ["const a = require('a'); export default () => a;", 'a'],
    ["export default async () => (await import('a')).default;", 'a'],
    [
      "import type { X } from 'gone'; import { type Y } from 'gone-too'; export default () => 1 as unknown as X | Y;",
      1,
    ],
  ])('listed in package.json: %s', async (line, expected) => {
    expect(await value(line, A, MANIFEST)).toBe(expected);
  });

  it.each([
    ["import a from 'npm:a'; export default () => a;", 'a'],
    ["import a from 'npm:a@1'; export default () => a;", 'a'],
    ["import a from 'npm:a@^1.0.0'; export default () => a;", 'a'],
    ["import a from 'npm:/a@1'; export default () => a;", 'a'],
    ["import { sub } from 'npm:a@1/sub'; export default () => sub;", 'a/sub'],
    ["import b from 'npm:@s/b@1'; export default () => b;", '@s/b'],
    ["import b from 'npm:@s/b/sub'; export default () => b;", '@s/b/sub'],
    ["import a from 'npm:a@1'; import again from 'a'; export default () => a === again;", true],
  ])('by npm: specifier: %s', async (line, expected) => {
    expect(
      await value(line, {
        ...A,
        'node_modules/@s/b': {
          'index.js': "module.exports = '@s/b'",
          'sub.mjs': "export default '@s/b/sub'",
          'package.json': json({
            name: '@s/b',
            version: '1.0.0',
            main: 'index',
            exports: { '.': './index.js', './sub': './sub.mjs' },
          }),
        },
      }),
    ).toBe(expected);
  });

  it('requests nothing where nothing is imported, and only for what the handler reaches', async () => {
    const registry = new FakePackageRegistry(A);
    await bundleFiles(
      'api/h.ts',
      { api: { 'h.ts': 'export default () => 1;', 'other.ts': "import 'npm:a@1';", ...MANIFEST } },
      registry,
    );
    expect(registry.resolved).toEqual([]);
    const sources: SourceTexts = {
      api: {
        'h.ts': "import '../lib/l.ts';\nimport a from 'npm:a@1';\nimport 'npm:a@1';\nexport default a;",
        'other.ts': "import 'npm:x';",
      },
      lib: { 'l.ts': "  import x from 'a';\nx;", ...MANIFEST },
    };
    await bundleFiles('api/h.ts', sources, registry);
    expect(registry.resolved).toEqual([
      { source: 'api', specifiers: [{ specifier: 'npm:a@1', file: 'api/h.ts', line: 2, column: 15 }] },
      { source: 'lib', specifiers: [] },
    ]);
    // One tarball, for both.
    expect(registry.given).toHaveLength(1);
  });

  it('fetches only the tarballs of packages that are reached', async () => {
    const registry = new FakePackageRegistry({ ...A, 'node_modules/b': {}, 'node_modules/c': {} });
    await bundleFiles('api/h.ts', { api: { 'h.ts': "import a from 'npm:a'; export default a;" } }, registry);
    expect(registry.given).toHaveLength(1);
  });

  it('finds the version that lies nearest, as Node does', async () => {
    const version = (v: string): Record<string, string> => ({ 'index.js': `module.exports = '${v}';` });
    expect(
      await value("import b from 'npm:b'; import c from 'npm:c'; export default () => [b, c];", {
        'node_modules/a': version('1'),
        'node_modules/b': { 'index.js': "module.exports = require('a');" },
        'node_modules/c': { 'lib/index.js': "module.exports = require('a');", 'package.json': json({ main: 'lib' }) },
        'node_modules/c/node_modules/a': version('2'),
      }),
    ).toEqual(['1', '2']);
  });

  it('each source has packages of its own', async () => {
    const result = await bundleFiles(
      'api/h.ts',
      {
        api: { 'h.ts': "import '../lib/l.ts'; import 'a'; export default 1;", ...MANIFEST },
        lib: { 'l.ts': "import a from 'a'; a;" },
      },
      A,
    );
    expect(result).toMatchObject({
      failure: {
        reason: 'ImportNotFound',
        message: expect.stringContaining('source lib has no package.json that lists a'),
        location: { file: 'lib/l.ts', line: 1, column: 15 },
      },
    });
  });

  it.each([
    ['import x from "npm:p"; export default () => x;', 'import'],
    ['const x = require("npm:p"); export default () => x;', 'require'],
    ['export default async () => (await import("npm:p")).default;', 'import'],
    ['import x from "npm:p/star/deep"; export default () => x;', 'deep'],
    ['import x from "npm:p/nested"; export default () => x;', 'import'],
    ['import x from "npm:p/self"; export default () => x;', 'import'],
    ['import x from "npm:p/private"; export default () => x;', 'private'],
    ['import x from "npm:p/array"; export default () => x;', 'deep'],
  ])('follows exports, imports and conditions: %s', async (line, expected) => {
    expect(
      await value(line, {
        'node_modules/p': {
          'package.json': json({
            name: 'p',
            version: '1.0.0',
            type: 'module',
            imports: { '#private': { node: './private.js', default: './wrong.js' } },
            exports: {
              '.': { browser: './wrong.js', types: './x.d.ts', import: './i.js', require: './r.cjs' },
              './star/*': './s/*.js',
              './nested': { node: { import: './i.js' }, default: './wrong.js' },
              './self': './self.js',
              './private': './p.js',
              './array': ['./s/deep.js'],
              './hidden': null,
            },
          }),
          'i.js': "export default 'import';",
          'r.cjs': "module.exports = 'require';",
          's/deep.js': "export default 'deep';",
          'wrong.js': "export default 'wrong';",
          'self.js': "export { default } from 'p';",
          'p.js': "export { default } from '#private';",
          'private.js': "export default 'private';",
        },
      }),
    ).toBe(expected);
  });

  it.each([
    ['main without extension', { 'package.json': json({ main: './lib/m' }), 'lib/m.js': "module.exports = 'm';" }],
    ['main that is a folder', { 'package.json': json({ main: 'lib' }), 'lib/index.js': "module.exports = 'm';" }],
    ['module alone', { 'package.json': json({ module: 'm.js' }), 'm.js': "export default 'm';" }],
    ['no package.json of note', { 'index.js': "module.exports = 'm';" }],
    ['index.json', { 'index.json': '"m"' }],
    [
      'an ES module without extensions',
      {
        'package.json': json({ type: 'module', main: 'i.js' }),
        'i.js': "import { m } from './lib'; export default m;",
        'lib/index.js': "export * from './m';",
        'lib/m.js': "export const m = 'm';",
      },
    ],
    [
      'a folder with a package.json of its own',
      {
        'index.js': "module.exports = require('./sub');",
        'sub/package.json': json({ main: './deep/x.js' }),
        'sub/deep/x.js': "module.exports = 'm';",
      },
    ],
    ['TypeScript', { 'package.json': json({ main: 'm.ts' }), 'm.ts': "const m: string = 'm'; export default m;" }],
    ['a byte order mark', { 'index.js': "\uFEFFmodule.exports = 'm';", 'package.json': '\uFEFF{"main":"index.js"}' }],
    ['a shebang', { 'index.js': "#!/usr/bin/env node\nmodule.exports = 'm';" }],
  ])('finds the entry: %s', async (_, files) => {
    expect(await value("import m from 'npm:m'; export default () => m;", { 'node_modules/m': files })).toBe('m');
  });

  it("lets CommonJS and ES modules import each other by Node's rules", async () => {
    const esm = { type: 'module', exports: './i.js' };
    expect(
      await value("import e from 'npm:e'; import plain from 'npm:c'; export default () => [...e, plain];", {
        'node_modules/e': {
          'package.json': json(esm),
          'i.js':
            "import c, { named } from 'c'; import * as all from 'c'; export default [typeof c, c.default, named, Object.keys(all).sort()];",
        },
        // To an ES module of Node's, the default import of this is the whole of it; to bundled code, its `default`.
        'node_modules/c': {
          'index.js': "exports.__esModule = true; exports.default = 'd'; exports.named = require('m').m;",
        },
        'node_modules/m': { 'package.json': json(esm), 'i.js': "export const m = 'n';" },
      }),
    ).toEqual(['object', 'd', 'n', ['__esModule', 'default', 'named'], 'd']);
  });

  it('runs what packages use of Node: its modules, __dirname, NODE_ENV, require.resolve', async () => {
    expect(
      await value("import n from 'npm:n'; export default () => n;", {
        'node_modules/n': {
          'index.js': `const { join } = require('path'); const fs = require('node:fs');
        if (process.env.NODE_ENV !== 'production') { require('./gone'); module.exports = require('also-gone'); }
        else module.exports = [join(__dirname, 'x'), __filename, typeof fs.readFileSync, require.resolve('node:fs'), typeof require.main, typeof module.require('fs').statSync];`,
        },
      }),
    ).toEqual(['/app/x', '/app/handler.mjs', 'function', 'node:fs', 'undefined', 'function']);
  });

  it('imports data of packages', async () => {
    expect(
      await value(
        "import d from 'npm:d'; import md from 'npm:d/a.md'; import bytes from 'npm:d/a.md' with { type: 'bytes' }; export default () => [...d, md, bytes.length];",
        {
          'node_modules/d': {
            'index.js':
              "const wasm = require('./a.wasm'); const j = require('./j'); module.exports = [j.a, wasm.length, require('./package.json').version, require('./bin/tool')];",
            'j.json': '{"a":1}',
            'a.wasm': new Uint8Array([0, 1, 2]),
            'a.md': '# é',
            'bin/tool': "module.exports = 'no extension';",
          },
        },
      ),
    ).toEqual([1, 3, '1.0.0', 'no extension', '# é', 4]);
  });

  it.each([
    [
      'react by pragma',
      { 'h.tsx': '/** @jsxImportSource react */\nexport default () => <p a="b">x</p>;', ...MANIFEST },
    ],
    [
      'by tsconfig.json',
      {
        'h.tsx': 'export default () => <p a="b">x</p>;',
        'tsconfig.json': json({ compilerOptions: { jsx: 'react-jsx', jsxImportSource: 'react' } }),
        ...MANIFEST,
      },
    ],
    ['by npm: specifier', { 'h.tsx': '/** @jsxImportSource npm:react@1 */\nexport default () => <p a="b">x</p>;' }],
  ])('JSX: %s', async (_, files) => {
    const react = { 'jsx-runtime.js': "exports.jsx = (type, props) => ['react', type, props];" };
    expect(await run(files, { 'node_modules/react': react }, 'h.tsx')).toEqual([
      'react',
      'p',
      { a: 'b', children: 'x' },
    ]);
  });

  it("JSX is the platform's Hono, and the source's own where it has one", async () => {
    const own = {
      'node_modules/hono': {
        'jsx/jsx-runtime.js': "exports.jsx = () => 'own';",
        'index.js': '',
        'package.json': json({ exports: { '.': './index.js', './jsx/jsx-runtime': './jsx/jsx-runtime.js' } }),
      },
    };
    const file = 'export default () => String(<p/>);';
    expect(await run({ 'h.tsx': file, ...MANIFEST }, own, 'h.tsx')).toBe('<p></p>');
    expect(await run({ 'h.tsx': file, 'package.json': json({ dependencies: { hono: '4' } }) }, own, 'h.tsx')).toBe(
      'own',
    );
    expect(await run({ 'h.tsx': `import 'npm:hono@4';\n${file}` }, own, 'h.tsx')).toBe('own');
  });

  it('renames by paths, baseUrl, imports of package.json and its own name', async () => {
    expect(
      await run(
        {
          'src/h.ts':
            "import a from '@/x'; import b from 'lib/y'; import c from '~'; import d from '#z'; import e from 'me/z'; import f from '@long/x'; import g from 'a'; export default () => [a, b, c, d, e, f, g];",
          'src/x.ts': "export default '@/x'",
          'src/lib/y.ts': "export default 'y'",
          'src/tilde.ts': "export default '~'",
          'z.ts': "export default 'z'",
          'src/long/x.ts': "export default 'long'",
          'tsconfig.json':
            '{ // as editors read it\n "compilerOptions": { "baseUrl": "./src", "paths": { "@/*": ["./gone/*", "./*"], "@long/*": ["long/*"], "~": ["tilde.ts"] }, } }',
          'package.json': json({
            name: 'me',
            type: 'module',
            imports: { '#z': './z.ts' },
            exports: { './z': './z.ts' },
            dependencies: { a: '1' },
          }),
        },
        A,
        'src/h.ts',
      ),
    ).toEqual(['@/x', 'y', '~', 'z', 'z', 'long', 'a']);
  });

  it('drops what is not used where the package says that it may', async () => {
    const effects = {
      'package.json': json({ sideEffects: ['./loud.js', '*.css.js'] }),
      'index.js':
        "export { quiet } from './quiet.js'; export { loud } from './loud.js'; import './x.css.js'; export const one = 1;",
      'quiet.js': 'globalThis.quietOne = 1; export const quiet = 1;',
      'loud.js': 'globalThis.loudOne = 1; export const loud = 1;',
      'x.css.js': 'globalThis.cssOne = 1;',
    };
    const artifact = await artifactOf(
      { 'h.ts': "import { one } from 'npm:s'; export default () => one;" },
      { 'node_modules/s': effects },
    );
    expect(['quietOne', 'loudOne', 'cssOne'].map((name) => artifact.includes(name))).toEqual([false, true, true]);
  });

  it('names files of packages in a stack by their place in node_modules', async () => {
    const packages = {
      'node_modules/t': {
        'package.json': json({ type: 'module', main: './lib/t.js' }),
        'lib/t.js': '// é\nexport const fail = () => {\n  throw new Error("oh");\n};\n//# sourceMappingURL=t.js.map',
      },
    };
    const { stack } = runArtifact(
      await artifactOf({ 'h.ts': "import { fail } from 'npm:t';\n\nexport default () => fail();\n" }, packages),
    );
    expect(stack).toContain('/app/api/node_modules/t/lib/t.js:3:9');
    expect(stack).toContain('/app/api/h.ts:3:22');
  });

  it('makes the same bytes each time', async () => {
    const files = { 'h.ts': "import a from 'npm:a'; import { sub } from 'npm:a/sub'; export default () => [a, sub];" };
    expect(await artifactOf(files, A)).toBe(await artifactOf(files, A));
  });
});

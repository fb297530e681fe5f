import * as esbuild from 'esbuild';
import { bundleFiles } from '../testing/bundle-files.ts';
import { runArtifact } from '../testing/run-artifact.ts';

type Sources = Parameters<typeof bundleFiles>[1];

async function artifactOf(handler: string, sources: Sources): Promise<string> {
  const result = await bundleFiles(handler, sources);
  if ('failure' in result) throw new Error(result.failure.message);
  return result.artifact;
}
const run = async (handler: string, sources: Sources): Promise<unknown> =>
  runArtifact(await artifactOf(handler, sources)).value;

async function failureOf(code: string, files: Record<string, string> = {}, handler = 'h.ts'): Promise<object> {
  const result = await bundleFiles(`api/${handler}`, { api: { [handler]: code, ...files } });
  if ('artifact' in result) throw new Error('it was built');
  return result.failure;
}

afterAll(() => esbuild.stop());

describe('what a build makes', () => {
  it.each([
    ['./helper', 'helper.ts'],
    ['./helper.js', 'helper.ts'],
    ['./helper.js', 'helper.tsx'],
    ['./helper.mjs', 'helper.mts'],
    ['./helper.cjs', 'helper.cts'],
    ['./helper.jsx', 'helper.tsx'],
    ['./helper', 'helper.mjs'],
    ['./helper', 'helper/index.ts'],
    ['./helper/', 'helper/index.js'],
    ['./a/../helper', 'helper.jsx'],
    ['./helper.test', 'helper.test.ts'],
    ['./a b#%?é', 'a b#%?é.ts'],
    ['./__proto__', '__proto__.ts'],
  ])('finds %s in %s', async (specifier, file) => {
    const handler = `import { name } from '${specifier}';\nexport default () => name;\n`;
    expect(
      await run('api/h.ts', {
        api: {
          'h.ts': handler,
          [file]: "export const name: string = 'found';\n".replace(/: string/, /js/.test(file) ? '' : ': string'),
        },
      }),
    ).toBe('found');
  });

  it('prefers the file that is named, then TypeScript, then the file over the folder', async () => {
    const files = {
      'a.js': "export default 'a.js'",
      'a.ts': "export default 'a.ts'",
      'a/index.ts': "export default 'a/index.ts'",
    };
    const handler =
      "import x from './a.js'; import y from './a'; import z from './a/'; export default () => [x, y, z];";
    expect(await run('api/h.ts', { api: { 'h.ts': handler, ...files } })).toEqual(['a.js', 'a.ts', 'a/index.ts']);
  });

  it('follows imports to and fro between sources', async () => {
    expect(
      await run('api/v1/h.ts', {
        api: { 'v1/h.ts': "export { default } from '../../shared/lib';", 'name.ts': "export const name = 'api';" },
        shared: { 'lib.ts': "import { name } from '../api/name'; export default () => name;" },
      }),
    ).toBe('api');
  });

  it('imports data', async () => {
    expect(
      await run('api/h.ts', {
        api: {
          'h.ts': `import json from './a.json'; import sql from './a.sql'; import md from './a.md'; import wasm from './a.wasm';
          import bytes from './a.sql' with { type: 'bytes' }; import text from './a.json' with { type: 'text' }; import parsed from './b' with { type: 'json' };
          export default () => [json.a, sql, md, wasm instanceof Uint8Array, [...bytes], text, parsed];`,
          'a.json': '{"a":1}',
          'a.sql': 'é',
          'a.md': '# a',
          'a.wasm': 'w',
          b: '[2]',
        },
      }),
    ).toEqual([1, 'é', '# a', true, [0xc3, 0xa9], '{"a":1}', [2]]);
  });

  it('has JSX from Hono, without any package', async () => {
    const handler = 'export default () => String(<p class="x">{1 < 2 && <><b>é</b></>}</p>);';
    expect(await run('api/h.tsx', { api: { 'h.tsx': handler } })).toBe('<p class="x"><b>é</b></p>');
  });

  it("takes JSX options and language flags from the source's tsconfig.json", async () => {
    const config =
      '{ // of this source\n "compilerOptions": { "jsx": "react", "jsxFactory": "h", "experimentalDecorators": true, }, }';
    const handler = `const h = (...all) => all; const mark = (target, key) => { target.marked = key; };
      class A { @mark run() {} } export default () => [<a b="c"/>, new A().marked];`;
    expect(await run('api/h.tsx', { api: { 'h.tsx': handler, 'tsconfig.json': config } })).toEqual([
      ['a', { b: 'c' }],
      'run',
    ]);
  });

  it.each([
    [
      'module.exports',
      'const path = require("path"); module.exports = () => path.join(__dirname, typeof require("node:fs").statSync, __filename);',
    ],
    [
      'exports.default',
      'exports.__esModule = true; const { join } = require("./join.cjs"); exports.default = () => join(__dirname, "function", __filename);',
    ],
  ])('runs CommonJS: %s', async (_, code) => {
    expect(await run('api/h.cjs', { api: { 'h.cjs': code, 'join.cjs': 'exports.join = require("path").join' } })).toBe(
      '/app/function/app/handler.mjs',
    );
  });

  it('lets workers be that need no file, and comments say what they like', async () => {
    const handler = `import { Worker, isMainThread } from 'node:worker_threads';
      // new Worker('./a.js'), new URL('./a.sql', import.meta.url)
      export default () => [isMainThread, typeof (() => new Worker('1', { eval: true })), new URL('./a', 'http://x.test/').href];`;
    expect(await run('api/h.ts', { api: { 'h.ts': handler } })).toEqual([true, 'function', 'http://x.test/a']);
  });

  it('leaves an author their own require, top-level await and import()', async () => {
    const handler = `import { createRequire } from 'node:module'; import sep from './sep.cjs'; const require = createRequire(import.meta.url);
      const { x } = await import('./x.ts'); export default async () => [require('node:path').sep, sep, x, import.meta.dirname, (await import('node:os')).EOL];`;
    expect(
      await run('api/h.ts', {
        api: { 'h.ts': handler, 'x.ts': 'export const x = 1', 'sep.cjs': 'module.exports = require("path").sep' },
      }),
    ).toEqual(['/', '/', 1, '/app', '\n']);
  });

  it.each(['h.ts', 'lib/a b.ts', 'deep/é.ts'])("names the author's file and line in a stack: %s", async (file) => {
    const code = "// é\nexport function fail(): never {\n  throw new Error('oh');\n}\nexport default fail;\n";
    const { stack } = runArtifact(await artifactOf(`api/${file}`, { api: { [file]: code } }));
    expect(decodeURI(stack ?? '')).toContain(`/app/api/${file}:3:9`);
  });

  it('keeps lines right where require is added', async () => {
    const { stack } = runArtifact(
      await artifactOf('api/h.cjs', {
        api: { 'h.cjs': "const fs = require('fs');\nmodule.exports = () => {\n  throw new Error(typeof fs);\n};\n" },
      }),
    );
    expect(stack).toContain('/app/api/h.cjs:3:9');
  });

  it('makes the same bytes of the same trees, and names nothing of the machine', async () => {
    const sources = { api: { 'h.tsx': "import './a.js'; export default () => <a/>;", 'a.ts': 'console.log(1)' } };
    const artifact = await artifactOf('api/h.tsx', sources);
    expect(await artifactOf('api/h.tsx', sources)).toBe(artifact);
    const map = JSON.parse(Buffer.from(/base64,(.*)\n$/.exec(artifact)![1]!, 'base64').toString()) as {
      sources: string[];
    };
    for (const text of [artifact, ...map.sources]) expect(text).not.toMatch(/node_modules|\/work|\/home|\/root/);
    expect(map.sources).toEqual(expect.arrayContaining(['api/h.tsx', 'api/a.ts']));
  });
});

describe('what a build refuses', () => {
  it.each([
    ["import a from 'lodash';", 'ImportNotFound', 15, 'import "npm:lodash"'],
    ["import a from 'npm:lodash@git+https://x.test/a.git';", 'PackageRefused', 15, 'only packages from the registry'],
    ["import a from 'https://x.test/a.ts';", 'ImportNotSupported', 15, 'not fetched from the network'],
    ["import a from 'jsr:@std/path';", 'ImportNotSupported', 15, 'not fetched from the network'],
    ["import a from './a.node';", 'ImportNotSupported', 15, 'native add-ons'],
    ["import a from '/etc/passwd';", 'ImportNotSupported', 15, 'a relative path'],
    ["import a from 'C:\\\\a.ts';", 'ImportNotSupported', 15, 'a relative path'],
    ["import a from '../../../etc/passwd';", 'ImportNotSupported', 15, 'points outside the sources'],
    ["import a from './style.css';", 'ImportNotSupported', 15, 'with { type: "text" }'],
    ["import a from '../gone/a.ts';", 'ImportNotFound', 15, 'no source gone'],
    ["import a from './gone';", 'ImportNotFound', 15, 'no file gone'],
    ["import a from './Lib';", 'ImportNotFound', 15, 'api/lib.ts'],
    ["import { gone } from './lib';", 'ImportNotFound', 10, '"gone"'],
    ["import a from 'node:gone';", 'ImportNotFound', 15, 'no such module'],
    ["const é = '€'; import './gone.ts';", 'ImportNotFound', 23, './gone.ts'],
    ['const f = (x) => import(x);', 'ImportNotSupported', 18, 'only a literal path'],
    ['const f = (x) => import(`./${x}.ts`);', 'ImportNotSupported', 18, 'only a literal path'],
    ["const f = (x) => require('./' + x);", 'ImportNotSupported', 18, 'only a literal path'],
    ["import { Worker } from 'worker_threads'; new Worker('./a.js');", 'ImportNotSupported', 42, '{ eval: true }'],
    ["const u = new URL('./a.sql', import.meta.url);", 'ImportNotSupported', 11, '{ type: "text" }'],
    ["const é = '€' '€';", 'SyntaxError', 15, 'Expected'],
  ])('%s', async (line, reason, column, says) => {
    // JavaScript: TypeScript would drop imports that are not used.
    const code = `\n${line}\nexport default () => 1;\n`;
    const failure = await failureOf(code, { 'lib.ts': 'export const a = 1', 'style.css': 'a {}' }, 'h.js');
    expect(failure).toEqual({
      reason,
      message: expect.stringContaining(says),
      location: { file: 'api/h.js', line: 2, column },
    });
    expect(failure).toMatchObject({ message: expect.stringMatching(/^api\/h\.js:2:\d+: [^\n]*\.$/) });
  });

  it.each(['export const a = 1;', 'console.log(1);', '', 'export default interface A {}'])(
    'a handler without a default export: %s',
    async (code) => {
      expect(await failureOf(code)).toMatchObject({
        reason: 'ExportError',
        message: expect.stringMatching(/^api\/h\.ts has no default export.*export default async \(c, ctx\)/),
      });
    },
  );

  it('names line and column in JSON and in tsconfig.json', async () => {
    const config = '{\n  // é\n  "a": x\n}';
    expect(await failureOf('export default 1', { 'tsconfig.json': config })).toMatchObject({
      reason: 'SyntaxError',
      location: { file: 'api/tsconfig.json', line: 3, column: 8 },
    });
    expect(await failureOf("import a from './a.json'; export default a", { 'a.json': '{\n "é": ,}' })).toMatchObject({
      reason: 'SyntaxError',
      location: { file: 'api/a.json', line: 2, column: 7 },
    });
  });

  it('counts the errors that come after the first', async () => {
    expect(await failureOf("import './a'; import './b'; import './c'; export default 1;")).toMatchObject({
      message: expect.stringMatching(/"\.\/a".*\(and 2 more errors\)$/),
    });
  });

  it.each([
    ['gone.ts', 'Source api has no file gone.ts: add it, or change the handler.'],
    ['H.ts', 'Source api has no file H.ts. There is api/h.ts: names are case-sensitive.'],
  ])('a handler that is not there: %s', async (handler, message) => {
    const result = await bundleFiles(`api/${handler}`, { api: { 'h.ts': 'export default () => 1;' } });
    expect(result).toMatchObject({ failure: { reason: 'HandlerNotFound', message } });
  });

  it('a handler that is no code', async () => {
    expect(await failureOf('x', {}, 'h.py')).toMatchObject({
      reason: 'BuildFailed',
      message: expect.stringContaining('.ts, .tsx'),
    });
  });

  it('says which files it had reached', async () => {
    const { inputs } = await bundleFiles('api/h.ts', {
      api: { 'h.ts': "import './a'; export default 1;", 'a.ts': "import './gone';", 'other.ts': '' },
    });
    expect(inputs.map(({ path }) => path)).toEqual(['a.ts', 'h.ts']);
  });
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { fc } from '@wherry/testing/properties.ts';
import { bundleFiles as bundleSources } from '../testing/bundle-files.ts';
import type { BundleResult } from './bundle.ts';

const CANARY = 'canary-3f9a';
const bundleFiles = (files: Record<string, string>, handler = 'handler.ts'): Promise<BundleResult> =>
  bundleSources(`api/${handler}`, { api: files });

describe('what lies outside the sources (B2)', () => {
  let folder: string;
  let before: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'wherry-outside-'));
    const map = { version: 3, sources: [CANARY], sourcesContent: [CANARY], names: [CANARY], mappings: 'AAAAA' };
    for (const [name, text] of Object.entries({
      'canary.ts': `export default '${CANARY}';`,
      'canary.js': `module.exports = '${CANARY}';`,
      'canary.json': JSON.stringify({ compilerOptions: { jsxImportSource: CANARY }, canary: CANARY }),
      'canary.txt': CANARY,
      canary: `${CANARY} is no code`,
      'canary.js.map': JSON.stringify(map),
      'package.json': JSON.stringify({ name: CANARY, exports: './canary.js' }),
      'tsconfig.json': JSON.stringify({ compilerOptions: { jsxImportSource: CANARY } }),
    }))
      writeFileSync(path.join(folder, name), text);
    mkdirSync(path.join(folder, 'node_modules', 'canary'), { recursive: true });
    writeFileSync(path.join(folder, 'node_modules', 'canary', 'index.js'), `module.exports = '${CANARY}';`);
    symlinkSync(path.join(folder, 'canary.ts'), path.join(folder, 'link.ts'));
    before = process.cwd();
    process.chdir(folder);
  });
  afterAll(async () => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
    await esbuild.stop();
  });

  const forms: ((specifier: string) => string)[] = [
    (s) => `import x from ${s};\nexport default () => x;`,
    (s) => `import x from ${s} with { type: 'text' };\nexport default () => x;`,
    (s) => `import x from ${s} with { type: 'bytes' };\nexport default () => x;`,
    (s) => `import x from ${s} with { type: 'json' };\nexport default () => x;`,
    (s) => `export { default } from ${s};`,
    (s) => `export * from ${s};\nexport default 1;`,
    (s) => `export default () => import(${s});`,
    (s) => `const x = require(${s});\nexport default () => x;`,
    (s) => `import x = require(${s});\nexport default () => x;`,
    (s) => `export default (x) => import(${s} + x);`,
    (s) => `export default (x) => import(\`\${${s}}\${x}\`);`,
    (s) => `export default (x) => import/* */(\`${s.slice(1, -1)}\${x}.ts\`);`,
    (s) => `module.exports = (x) => require(${s} + x + '.js');`,
    (s) => `module.exports = (x) => r\\u0065quire(\`${s.slice(1, -1)}\${x}\`);`,
    (s) => `module.exports = (x) => { if (false) require(${s} + x); try { require(${s} + x) } catch {} };`,
    (s) => `module.exports = (x) => module.require(${s} + x);`,
    (s) => `module.exports = (x) => m\\u006fdule /* */ [ "require" ](\`${s.slice(1, -1)}\${x}\`);`,
    (s) => `module.exports = (x) => (module as any)!.require(${s} + x + '.ts');`,
    (s) => `/** @jsxImportSource ${s.slice(1, -1)} */\nexport default () => 1;`,
    (s) => `export default 1;\n//# sourceMappingURL=${s.slice(1, -1)}`,
    (s) => `export default 1;\n/*@ sourceMappingURL=${s.slice(1, -1)} */`,
    (s) => `/// <reference path=${s} />\nexport default new URL(${s}, import.meta.url);`,
  ];

  const names = [
    'canary',
    'canary.ts',
    'canary.js',
    'canary.json',
    'canary.txt',
    'canary.js.map',
    'link.ts',
    'can',
    'node_modules/canary',
    '',
  ];
  const spelling = fc.oneof(
    fc.constantFrom(
      ...[
        '',
        './',
        '../',
        '../../../../../../../../',
        '/',
        '//',
        'file://',
        'FILE://',
        'file:',
        'file://localhost',
        './/',
        '.\\',
        '/proc/self/cwd/',
        '~/',
        '%2e%2e/',
        '..%2f',
        'data:text/javascript,',
      ].flatMap((prefix) => [prefix, `${prefix}FOLDER/`]),
    ),
    fc
      .array(fc.constantFrom('.', '..', '/', '\\', '%2f', '%2e', 'FOLDER', ':', 'file', '\0', '?', '#'), {
        maxLength: 8,
      })
      .map((parts) => parts.join('')),
  );

  const outside = (text: string): string => {
    const { href } = pathToFileURL(folder);
    return text.replaceAll('FILE://FOLDER', href.replace('file', 'FILE')).replaceAll('FOLDER', folder);
  };
  function expectNothing(result: BundleResult): void {
    expect(JSON.stringify(result)).not.toContain(CANARY);
    if (!('artifact' in result)) return;
    const map = /base64,(.*)\n$/.exec(result.artifact)?.[1] ?? '';
    expect(Buffer.from(map, 'base64').toString()).not.toContain(CANARY);
  }

  it('B2: no spelling of an import in any form reaches it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...forms), spelling, fc.constantFrom(...names), async (form, prefix, name) => {
        const specifier = JSON.stringify(outside(prefix + name));
        expectNothing(await bundleFiles({ 'handler.ts': form(specifier) }));
      }),
      { numRuns: 1500 },
    );
  }, 90_000);

  it.each(forms.map((form, index) => [index, form] as const))(
    'B2: form %i with the path, the URL and the relative path',
    async (_, form) => {
      for (const name of names) {
        const file = path.join(folder, name);
        for (const spelled of [
          file,
          pathToFileURL(file).href,
          `./${name}`,
          path.relative('/app/api', file),
          `../..${file}`,
        ]) {
          expectNothing(await bundleFiles({ 'handler.ts': form(JSON.stringify(spelled)) }));
        }
      }
    },
  );

  it('B2: a tsconfig.json does not extend it', async () => {
    for (const extended of [`${folder}/canary.json`, '../../canary.json', './canary.json', 'canary']) {
      const config = JSON.stringify({
        extends: extended,
        compilerOptions: { baseUrl: folder, paths: { x: ['./canary.ts'] } },
      });
      expectNothing(
        await bundleFiles({ 'handler.tsx': 'export default () => <a/>;', 'tsconfig.json': config }, 'handler.tsx'),
      );
      expectNothing(
        await bundleFiles({ 'handler.ts': "import x from 'x';\nexport default x;", 'tsconfig.json': config }),
      );
    }
  });

  it('B2: a source map inside a comment does not name it for reading', async () => {
    const map = {
      version: 3,
      sources: [pathToFileURL(`${folder}/canary.txt`).href, `${folder}/canary.txt`],
      names: [],
      mappings: 'AAAA,ACAA',
    };
    const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
    const result = await bundleFiles({ 'handler.ts': `export default () => 1;\n//# sourceMappingURL=${url}\n` });
    expect('artifact' in result).toBe(true);
    expectNothing(result);
  });

  it('B2: whether a file exists outside makes no difference', async () => {
    const answer = async (target: string): Promise<unknown> => {
      const result = await bundleFiles({ 'handler.ts': `export default (x) => import(\`${target}/\${x}.ts\`);` });
      return 'failure' in result ? result.failure : result;
    };
    expect(await answer('.')).toEqual(await answer('./missing'));
    expect(await answer(`../..${folder}`)).toEqual(await answer('../../missing'));
  });
});

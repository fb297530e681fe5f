import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { fc } from '@wherry/testing/properties.ts';
import { bundleFiles } from '../testing/bundle-files.ts';
import type { PackageContents } from '../packages/testing/make-tarball.ts';
import type { BundleResult } from './bundle.ts';

const CANARY = 'canary-7c1e';
/** What the author, and another source, have that is nobody's business. */
const PRIVATE = 'private-5d2b';
const json = JSON.stringify;

describe('what lies outside a package (B2)', () => {
  let folder: string;
  let before: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'wherry-outside-'));
    const map = { version: 3, sources: [CANARY], sourcesContent: [CANARY], names: [CANARY], mappings: 'AAAAA' };
    mkdirSync(path.join(folder, 'node_modules', 'canary'), { recursive: true });
    for (const [name, text] of Object.entries({
      'canary.js': `module.exports = '${CANARY}';`,
      'canary.json': json({ canary: CANARY }),
      'canary.js.map': json(map),
      'package.json': json({ name: CANARY, exports: './canary.js', imports: { '#canary': './canary.js' } }),
      'tsconfig.json': json({ compilerOptions: { jsxImportSource: CANARY } }),
      'node_modules/canary/index.js': `module.exports = '${CANARY}';`,
    }))
      writeFileSync(path.join(folder, name), text);
    before = process.cwd();
    process.chdir(folder);
  });
  afterAll(async () => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
    await esbuild.stop();
  });

  const outside = (text: string): string =>
    text.replaceAll('URL', pathToFileURL(folder).href).replaceAll('FOLDER', folder);

  /** Builds a handler that imports the package, beside a file of the author's and another source. */
  function build(files: PackageContents): Promise<BundleResult> {
    const named = Object.fromEntries(
      Object.entries(files).map(([name, text]) => [name, typeof text === 'string' ? outside(text) : text]),
    );
    const secret = `module.exports = '${PRIVATE}';`;
    return bundleFiles(
      'api/h.ts',
      {
        api: {
          'h.ts': "import * as evil from 'npm:evil';\nexport default () => evil;",
          'secret.js': secret,
          'package.json': json({ dependencies: { evil: '1' } }),
        },
        other: { 'secret.js': secret, 'index.js': secret },
      },
      {
        'node_modules/evil': named,
        'node_modules/neighbour': {
          'secret.js': secret,
          'package.json': json({ name: 'neighbour', version: '1.0.0', exports: { '.': './open.js' } }),
          'open.js': '',
        },
      },
    );
  }

  function expectNothing(result: BundleResult): void {
    const map =
      'artifact' in result ? Buffer.from(/base64,(.*)\n$/.exec(result.artifact)?.[1] ?? '', 'base64').toString() : '';
    for (const word of [CANARY, PRIVATE]) expect(json(result) + map).not.toContain(word);
  }

  const TARGETS = [
    'FOLDER/canary.js',
    'URL/canary.js',
    '../../../FOLDER/canary.js',
    '../../../../../../../../FOLDER/canary.js',
    './../../../FOLDER/canary.js',
    './FOLDER/canary.js',
    '../../secret.js',
    '../../../other/secret.js',
    '../../../other',
    '../neighbour/secret.js',
    './../neighbour/secret.js',
    '/api/secret.js',
    '/other/secret.js',
    'neighbour/secret.js',
    '..',
    '../..',
    '../../..',
    'FOLDER',
    'canary',
    'node_modules/canary',
    '/proc/self/cwd/canary.js',
    './x/../../../secret.js',
    '.\\..\\..\\secret.js',
    '%2e%2e/%2e%2e/secret.js',
    './node_modules/../../../secret.js',
  ];

  it.each(TARGETS)('exports, imports, main and relative imports that point to %s', async (target) => {
    const manifests: object[] = [
      { main: target },
      { module: target },
      { exports: target },
      { exports: { '.': target } },
      { exports: { '.': [target, `./${target}`] } },
      { exports: { '.': { import: { node: target } } } },
      { exports: './i.js', imports: { '#x': target } },
      { exports: './i.js', imports: { '#x/*': `${target}/*` } },
      { exports: { '.': './i.js', './*': `./*${target}` } },
      { main: target, browser: { './i.js': target } },
      { main: 'i.js', type: target, sideEffects: [target, `${target}/**`] },
    ];
    for (const manifest of manifests) {
      const use = "import '#x'; export * from '#x'; export * as deep from '#x/y'; export default 1;";
      expectNothing(
        await build({ 'package.json': json({ name: 'evil', version: '1.0.0', ...manifest }), 'i.js': use }),
      );
    }
    for (const use of [
      `export * from ${json(target)};`,
      `import x from ${json(target)} with { type: 'text' }; export default x;`,
      `module.exports = require(${json(target)});`,
      `export const x = import(${json(target)});`,
      `exports.x = require.resolve(${json(target)});`,
      `export default new URL(${json(target)}, import.meta.url);`,
    ]) {
      expectNothing(await build({ 'index.js': use }));
    }
  });

  const computed: ((start: string) => string)[] = [
    (s) => `module.exports = (x) => require(${s} + x);`,
    (s) => `module.exports = (x) => require(\`${s.slice(1, -1)}\${x}.js\`);`,
    (s) => `module.exports = (x) => (require)(((${s} + x)));`,
    (s) => `module.exports = (x) => require/**/(/* " */${s} + x);`,
    (s) => `module.exports = (x) => r\\u0065quire(${s} + x);`,
    (s) => `module.exports = (x) => \\u{72}equire(${s} + x);`,
    (s) => `module.exports = (x) => module.require(${s} + x);`,
    (s) => `module.exports = (x) => module["require"](${s} + x);`,
    (s) => `module.exports = (x) => module/*a*/\n . /*b*/ require\n(${s} + x);`,
    (s) => `module.exports = (x) => (module)[\`require\`](${s} + x);`,
    (s) => `module.exports = (x) => m\\u006fdule.requir\\u0065(${s} + x);`,
    (s) => `module.exports = (x) => mod\\u{75}le['re' + 'quire'](${s} + x);`,
    (s) => `module.exports = (x) => module[('require')](${s} + x + '.json');`,
    (s) => `exports.a = (x) => import(${s} + x);`,
    (s) => `exports.a = (x) => import\n/* a */(\`${s.slice(1, -1)}\${x}\`);`,
    (s) => `exports.a = (x) => import(${s} + x, { with: { type: 'json' } });`,
    (s) => `export const a = (x) => { try { return require(${s} + x) } catch {} };`,
    (s) => `export const a = (x) => import(${s} + x).catch(() => 1);`,
    (s) => `const a = "require('x')"; exports.b = (x) => require('' + ${s} + x); // require(`,
    (s) => `exports.b = (x, y) => y ? require(${s} + x) : require(y ? ${s} + x : 'fs');`,
    (s) => `\uFEFFexports.b = (x) => {\r\n\u2028 return require(${s} + x) };`,
  ];
  const starts = [
    './',
    '../',
    '../../../FOLDER/',
    './FOLDER/',
    '../../../../../../../..FOLDER/',
    './../../../../../../../../FOLDER/ca',
    '../../../FOLDER/node_modules/',
    '\\x2e/',
    '\\u002e./',
  ];

  it.each(computed.map((form, index) => [index, form] as const))(
    'paths that are put together, form %i: the disk is not even looked at, and the build goes on',
    async (_, form) => {
      for (const start of starts) {
        const result = await build({ 'index.js': form(`"${start}"`) });
        expect(result).toHaveProperty('artifact');
        expectNothing(result);
        // A list of what is there would stand in the artifact as paths beside functions.
        expect(json(result)).not.toContain('(glob)');
        expect(json(result)).not.toMatch(/canary/);
      }
    },
  );

  it.each([
    '//# sourceMappingURL=URL/canary.js.map',
    '//# sourceMappingURL=FOLDER/canary.js.map',
    '//# sourceMappingURL=canary.js.map',
    '/*# sourceMappingURL=URL/canary.js.map */',
    '//@ sourceMappingURL=FILE://localhostFOLDER/canary.js.map',
    'const s = "a" //# sourceMappingURL=URL/canary.js.map',
    '`\n//# sourceMappingURL=URL/canary.js.map`',
    `//# sourceMappingURL=data:application/json;base64,${Buffer.from(json({ version: 3, sources: [CANARY], names: [], mappings: 'AAAA' })).toString('base64')}`,
  ])('source maps: %s', async (comment) => {
    const result = await build({ 'index.js': `module.exports = () => 1;\n${comment}` });
    expect(result).toHaveProperty('artifact');
    expectNothing(result);
  });

  it("no spelling of an import in a package's code reaches it", async () => {
    const part = fc.constantFrom(
      '.',
      '..',
      '/',
      '\\',
      '%2f',
      'FOLDER',
      'URL',
      ':',
      'file',
      '\0',
      '?',
      '#',
      'canary.js',
      'secret.js',
      'other',
      'api',
      'neighbour',
      'node_modules',
      'npm:',
      '@',
    );
    const specifier = fc.oneof(
      fc.array(part, { minLength: 1, maxLength: 9 }).map((parts) => parts.join('')),
      fc.array(part, { minLength: 1, maxLength: 9 }).map((parts) => parts.join('/')),
    );
    const form = fc.constantFrom(
      (s: string) => `export * from ${s};`,
      (s: string) => `module.exports = require(${s});`,
      (s: string) => `export const a = import(${s});`,
      (s: string) => `exports.a = (x) => require(${s} + x);`,
      (s: string) => `exports.a = (x) => import(\`${s.slice(1, -1).replaceAll('`', '')}\${x}\`);`,
    );
    await fc.assert(
      fc.asyncProperty(form, specifier, async (make, text) => {
        expectNothing(
          await build({
            'index.js': make(json(text)),
            'package.json': json({ name: 'evil', version: '1.0.0', main: 'index.js', imports: { '#x': text } }),
          }),
        );
      }),
      { numRuns: 600 },
    );
  }, 90_000);

  it.each([
    ['a link to a file', { 'index.js': '-> FOLDER/canary.js' }],
    ['a link to a folder', { lib: '-> FOLDER', 'index.js': "module.exports = require('./lib/canary.js');" }],
    ['a link that climbs', { 'x.js': '-> ../../../secret.js', 'index.js': "module.exports = require('./x.js');" }],
    [
      'an entry above the package',
      {
        '../secret.js': `module.exports = '${CANARY}'`,
        'index.js': "module.exports = require('neighbour/../secret.js');",
      },
    ],
    [
      'a package in the package',
      {
        'node_modules/neighbour/open.js': "module.exports = require('../../../../../secret.js');",
        'node_modules/neighbour/package.json': '{"main":"open.js"}',
        'index.js': "module.exports = require('neighbour');",
      },
    ],
  ])('%s', async (_, files) => {
    expectNothing(await build(files));
  });

  it("a package's tsconfig.json and the names of its types say nothing to the build", async () => {
    const result = await build({
      'index.js': 'export const a = () => 1;',
      'tsconfig.json': json({ extends: `${folder}/tsconfig.json` }),
      'package.json': json({ type: 'module', types: `${folder}/canary.js` }),
    });
    expect(result).toHaveProperty('artifact');
    expectNothing(result);
  });
});

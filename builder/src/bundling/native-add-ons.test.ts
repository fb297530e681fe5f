import * as esbuild from 'esbuild';
import { bundleFiles } from '../testing/bundle-files.ts';
import { FakePackageRegistry } from '../testing/fake-package-registry.ts';
import { runArtifact } from '../testing/run-artifact.ts';

/*
 * Packages that load native add-ons are refused where the author imports them, whichever way they go about it; what
 * only looks like it, and what does without, works.
 */

afterAll(() => esbuild.stop());

const HANDLER = "import value from 'npm:addon';\nexport default () => value;";
const build = (code: string, options: { optional?: string[] } = {}): ReturnType<typeof bundleFiles> =>
  bundleFiles(
    'api/h.ts',
    { api: { 'h.ts': HANDLER } },
    new FakePackageRegistry({ 'node_modules/addon': { 'index.js': code } }, options),
  );

it.each([
  ['its file', "module.exports = require('./build/Release/addon.node');"],
  ['a loader of add-ons', "module.exports = require('bindings')('addon.node');"],
  [
    'a file that the platform decides',
    'module.exports = require(`./prebuilds/${process.platform}-${process.arch}.node`);',
  ],
  [
    'a file that is looked for',
    "const file = require('path').join(__dirname, 'prebuilds', 'addon.node');\nmodule.exports = require(file || '' + file);",
  ],
  [
    'a file, with a require of its own',
    "import { createRequire } from 'node:module';\nconst own = createRequire(import.meta.url);\nexport default own('./prebuilds/addon.node');",
  ],
])('refuses a package that loads %s', async (_what, code) => {
  expect(await build(code)).toMatchObject({
    failure: {
      reason: 'ImportNotSupported',
      message: expect.stringMatching(
        /^api\/h\.ts:1:19: .*The package addon is a native add-on, which cannot run here\. Use /,
      ),
      location: { file: 'api/h.ts', line: 1, column: 19 },
    },
  });
});

it.each([
  [
    'names the version of Node',
    "try { require('./' + process.version) } catch {}\nmodule.exports = 'needs process.versions.node' && 'works';",
  ],
  [
    'knows the extension',
    "try { require('./' + process.version) } catch {}\nmodule.exports = ['.js', '.node'] && 'works';",
  ],
  ['handles that there is none', "try { require('./build/Release/addon.node') } catch { module.exports = 'works'; }"],
])('takes a package that %s', async (_what, code) => {
  const result = await build(code);
  expect(runArtifact('artifact' in result ? result.artifact : '')).toEqual({ value: 'works' });
});

it('takes an optional package that would load one, and it throws only when it is loaded', async () => {
  const result = await build('module.exports = () => require(`./${process.arch}.node`);', {
    optional: ['node_modules/addon'],
  });
  expect(result).toHaveProperty('artifact');
});

it('an artifact that is given require by us may have code in which imports are put together', async () => {
  const code =
    "import fs from 'fs';\nexport default typeof fs.readFileSync + typeof load;\nfunction load(path) { return require('./' + path); }";
  const registry = new FakePackageRegistry({
    'node_modules/addon': {
      'index.mjs': code,
      'package.json': '{"name":"addon","version":"1.0.0","main":"index.mjs"}',
    },
  });
  const result = await bundleFiles('api/h.ts', { api: { 'h.ts': HANDLER } }, registry);
  expect(runArtifact('artifact' in result ? result.artifact : '')).toEqual({ value: 'functionfunction' });
});

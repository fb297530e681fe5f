import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './run-command.ts';
import { unusedExports } from './unused-exports.ts';

/** What is loaded otherwise than by an import: a handler by Wherry, a runner by jest, the last by Arborist. */
const LOADED = [
  /^examples\//,
  /^e2e\/package-matrix\/fixtures\/.*: default$/,
  /^builder\/.*\/pacote\.ts: manifest$/,
  /^e2e\/tooling\/(jest-runner|slowest-files)\.js: default$/,
];
const SKIPPED = ['node_modules', '.cache', 'data', 'dist'];

it('finds what no other file imports', () => {
  const sources = {
    'core/src/a.ts': `
      export interface Options { size: number }
      export const used = 1, unused = 2;
      export function called(options: Options) { return { options, unused }; }
      export type { Options as Renamed };
      export const { left, right: other } = { left: 1, right: 2 };`,
    'core/src/lazy.ts': 'export const lazy = 1;\nexport const never = 2;\nexport class Typed {}\n',
    'core/src/whole.ts': 'export const one = 1;\nexport const two = 2;\nexport default one;\n',
    'core/src/b.ts': "export { left as again } from './a.ts';\nimport * as whole from './whole.ts';\nvoid whole.one;\n",
    'router/src/c.test.ts': `
      import { used as mine, called, type other } from '@example/core/a.ts';
      import { again } from '@example/core/b.ts';
      const { lazy } = await import('@example/core/lazy.ts');
      let typed: import('@example/core/lazy.ts').Typed;`,
  };
  expect(unusedExports(new Map(Object.entries(sources)), new Map([['@example/core', 'core/src']]))).toEqual([
    'core/src/a.ts: Options',
    'core/src/a.ts: Renamed',
    'core/src/a.ts: unused',
    'core/src/lazy.ts: never',
    'core/src/whole.ts: default',
    'core/src/whole.ts: two',
  ]);
});

it('finds none here: what only its own file uses is not exported', () => {
  const { workspaces } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { workspaces: string[] };
  const packages = workspaces.map((folder) => {
    const manifest = readFileSync(path.join(root, folder, 'package.json'), 'utf8');
    const { name, exports } = JSON.parse(manifest) as { name: string; exports?: object };
    return [name, exports === undefined ? folder : `${folder}/src`] as const;
  });
  const exclude = (name: string): boolean => SKIPPED.includes(path.basename(name));
  const files = globSync(
    [...workspaces, 'examples'].map((folder) => `${folder}/**/*.{ts,tsx,js,mjs}`),
    { cwd: root, exclude },
  );
  const sources = files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')] as const);
  const found = unusedExports(new Map(sources), new Map(packages));
  expect(found.filter((name) => !LOADED.some((loaded) => loaded.test(name)))).toEqual([]);
});

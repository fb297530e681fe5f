import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkImports } from './check-imports.ts';
import { root } from './run-command.ts';

const parts = ['core', 'testing', 'service', 'router', 'operator', 'embedded', 'kube', 'e2e'];
let tree: string;

/** A small tree of parts, wired like the real one. */
function makeTree(files: Record<string, string>): void {
  cpSync(path.join(root, 'tsconfig.json'), path.join(tree, 'tsconfig.json'));
  mkdirSync(path.join(tree, 'node_modules/@wherry'), { recursive: true });
  for (const name of ['zod', 'fast-check', 'express']) {
    cpSync(
      path.join(root, 'node_modules', name, 'package.json'),
      path.join(tree, 'node_modules', name, 'package.json'),
    );
    writeFileSync(path.join(tree, 'node_modules', name, 'index.js'), 'export {};\n');
  }
  writeFileSync(path.join(tree, 'package.json'), JSON.stringify({ type: 'module', workspaces: parts }));
  for (const part of parts) {
    mkdirSync(path.join(tree, part, 'src'), { recursive: true });
    const dependencies = { zod: '*' };
    const manifest = { name: `@wherry/${part}`, type: 'module', exports: { './*': './src/*' }, dependencies };
    writeFileSync(path.join(tree, part, 'package.json'), JSON.stringify(manifest));
    symlinkSync(`../../${part}`, path.join(tree, 'node_modules/@wherry', part));
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
    writeFileSync(path.join(tree, file), text);
  }
}

/** The names of the rules that a tree breaks, each with the file that breaks it. */
async function broken(files: Record<string, string>): Promise<string[]> {
  makeTree(files);
  const violations = await checkImports(tree, parts);
  return violations.map((line) => `${line.split(/[ :]/)[0]} ${/\(([\w-]+)\)$/.exec(line)?.[1]}`).sort();
}

beforeEach(() => {
  tree = mkdtempSync(path.join(tmpdir(), 'wherry-imports-'));
});

afterEach(() => {
  rmSync(tree, { recursive: true, force: true });
});

it('finds nothing wrong in a tree that keeps the table', async () => {
  expect(
    await broken({
      'core/src/name.ts':
        'import { hash } from "node:crypto";\nexport type Name = string;\nexport const digest = hash;\n',
      'core/src/name.test.ts': 'import { readFileSync } from "node:fs";\nvoid readFileSync;\n',
      'router/src/match.ts': 'import type { Name } from "@wherry/core/name.ts";\nexport const name: Name = "a";\n',
      'operator/src/main.ts': 'export const kube = await import("@wherry/kube/store.ts");\n',
      'kube/src/store.ts': 'export const store = 1;\n',
      'testing/src/fake.ts': 'import type { Name } from "@wherry/core/name.ts";\nexport const fake: Name = "a";\n',
      'core/src/fake.test.ts': 'import "@wherry/testing/fake.ts";\n',
      'router/src/testing/harness.ts': 'import "@wherry/testing/fake.ts";\n',
      'router/src/match.test.ts': 'import "./testing/harness.ts";\n',
    }),
  ).toEqual([]);
});

it('names each import that breaks the table', async () => {
  expect(
    await broken({
      'core/src/io.ts': 'import { readFileSync } from "node:fs";\nexport const read = readFileSync;\n',
      'core/src/timer.ts': 'import { setTimeout } from "node:timers/promises";\nexport const wait = setTimeout;\n',
      'core/src/web.ts': 'import "express";\n',
      'core/src/up.ts': 'import type { State } from "@wherry/service/state.ts";\nexport type Up = State;\n',
      'core/src/egg.ts': 'import type { Hen } from "./hen.ts";\nexport type Egg = Hen;\n',
      'core/src/hen.ts': 'import type { Egg } from "./egg.ts";\nexport type Hen = Egg[];\n',
      'service/src/state.ts': 'export type State = string;\n',
      'router/src/side.ts': 'import type { Plan } from "@wherry/operator/plan.ts";\nexport type Side = Plan;\n',
      'router/src/path.ts': 'import type { State } from "../../service/src/state.ts";\nexport type Path = State;\n',
      'router/src/lost.ts': 'import "./nowhere.ts";\n',
      'router/src/use-test.ts': 'import "./side.test.ts";\n',
      'router/src/side.test.ts': 'export {};\n',
      'operator/src/plan.ts': 'import { store } from "@wherry/kube/store.ts";\nexport type Plan = typeof store;\n',
      'operator/src/main.ts': 'import { store } from "@wherry/kube/store.ts";\nexport const main = store;\n',
      'embedded/src/main.ts': 'import { store } from "@wherry/kube/store.ts";\nexport const main = store;\n',
      'kube/src/store.ts': 'export const store = 1;\n',
      'testing/src/fake.ts': 'import type { State } from "@wherry/service/state.ts";\nexport type Fake = State;\n',
      'core/src/faked.ts': 'import type { Fake } from "@wherry/testing/fake.ts";\nexport type Faked = Fake;\n',
      'kube/src/testing/api-server.ts': 'export const server = 1;\n',
      'kube/src/client.ts': 'export const server = await import("./testing/api-server.ts");\n',
      'kube/src/testing/use-test.ts': 'import "./server.test.ts";\n',
      'kube/src/testing/server.test.ts': 'export {};\n',
      'embedded/src/serve.ts': 'import "./store/testing/crash.ts";\n',
      'embedded/src/store/testing/crash.ts': 'export {};\n',
      'e2e/src/outside.test.ts': 'import "@wherry/testing/fake.ts";\n',
    }),
  ).toEqual([
    'core/src/egg.ts no-cycle',
    'core/src/faked.ts test-support-in-product',
    'core/src/io.ts core-is-pure',
    'core/src/timer.ts core-is-pure',
    'core/src/up.ts core-imports',
    'core/src/web.ts core-packages',
    'core/src/web.ts unlisted-package',
    'e2e/src/outside.test.ts e2e-imports',
    'embedded/src/main.ts embedded-imports',
    'embedded/src/serve.ts test-support-in-product',
    'kube/src/client.ts test-support-in-product',
    'kube/src/testing/use-test.ts test-in-product',
    'operator/src/main.ts operator-loads-kube-lazily',
    'operator/src/plan.ts operator-loads-kube-lazily',
    'operator/src/plan.ts operator-only-main-loads-kube',
    'router/src/lost.ts unresolved',
    'router/src/path.ts part-by-relative-path',
    'router/src/side.ts router-imports',
    'router/src/use-test.ts test-in-product',
    'testing/src/fake.ts testing-imports',
  ]);
});

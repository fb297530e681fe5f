import { mayComputeImports } from './unsafe-code.ts';

describe('mayComputeImports', () => {
  it.each([
    'import(`./${x}`)',
    'import (x)',
    'import\n(x)',
    'import/**/(x)',
    'import//\n(x)',
    'import\u00a0(x)',
    'import.defer(x)',
    'import . source(x)',
    'require(x)',
    'require\n(x)',
    'r\\u0065quire("./" + x)',
    'r\\u{65}quire(x)',
    '(0, require)(x)',
    'a=>import(a)',
    'importé;import(x)',
    'import /**/ a from "a"',
  ])('B2: calls esbuild for %j', (code) => {
    expect(mayComputeImports(code)).toBe(true);
  });

  it.each([
    "import a from './a.ts'",
    'import{a}from"./a.ts"',
    "import './a.ts'",
    'import\n  * as a from "./a.ts"',
    'import $ from "./a.ts"',
    'import.meta.url',
    'const important = 1',
    "import type { A } from './a.ts'",
  ])('spares %j the question', (code) => expect(mayComputeImports(code)).toBe(false));
});

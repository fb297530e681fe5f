import type * as Esbuild from 'esbuild';
import type { Loader } from 'esbuild';

/** `module` other than in `module.exports`; its letters may be escaped. */
const MAY_CALL = /module|\\u/;
const CALL = /\bmodule\.require\((?!"[^"\\]*"\)|'[^'\\]*'\)|`[^`\\$]*`\))/g;

/**
 * The code without `module.require()` of a path that is put together; undefined when it has none. esbuild takes such a
 * call for `require()` when it bundles, and only then: it does not report it beforehand. So it is looked for in the code
 * as esbuild itself writes it, without comments, parentheses and escapes that could hide it.
 */
export async function withoutModuleRequire(
  file: { code: string; loader: Loader },
  esbuild: typeof Esbuild,
): Promise<string | undefined> {
  if (!MAY_CALL.test(file.code.replace(/\bmodule\.exports\b/g, ''))) return undefined;
  const options = {
    loader: file.loader,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'silent',
    jsx: 'preserve',
  } as const;
  // What does not parse is reported by the bundling.
  const written = await esbuild.transform(file.code, options).then(
    ({ code }) => code,
    () => '',
  );
  const without = written.replace(CALL, 'module.__wherryRequire(');
  return without === written ? undefined : without;
}

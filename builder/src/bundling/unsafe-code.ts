import type * as Esbuild from 'esbuild';
import type { Loader, Message, PartialMessage } from 'esbuild';
import type { LanguageOptions } from './ts-config.ts';

/**
 * Two things in code make esbuild read the disk by itself, past every plugin; both are found before it bundles (B2).
 *
 * 1. `import()` and `require()` of a computed path: it expands them as globs. Whether code has one is
 *    esbuild's to say (it reports it when it does not bundle); this only says whether esbuild must be called. No spelling passes:
 *    `import` is a keyword, so it has no escapes, and what follows it in code without such calls is listed.
 */
export const mayComputeImports = (code: string): boolean => /require|\\u|import(?!\s*[\w$*{'"]|\.meta\b)/.test(code);

/** 2. A comment that names a source map by a `file:` URL. The comment, if there is one. */
export const fileSourceMap = (code: string): RegExpExecArray | null =>
  /\/[/*][#@] sourceMappingURL=\s*file:/i.exec(code);

/** esbuild's names for an `import()` and a `require()` whose path is computed. */
const COMPUTED = ['unsupported-dynamic-import', 'unsupported-require-call'];
/** Of the same name, but about any `require()`, because without `bundle` it stays in an ES module. */
const ANY_REQUIRE = /^Converting "require" to "esm"/;

/**
 * The imports of a file whose path is computed, as esbuild sees them. It is called without `bundle`, when it neither
 * resolves anything nor expands such paths as globs on the disk. Other errors are left to the bundling.
 */
export async function computedImports(
  file: { path: string; code: string; loader: Loader },
  esbuild: typeof Esbuild,
  language: LanguageOptions,
): Promise<PartialMessage[]> {
  try {
    await esbuild.build({
      ...language,
      entryPoints: ['file'],
      outfile: '/app/file.mjs',
      absWorkingDir: '/',
      bundle: false,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      logLevel: 'silent',
      logOverride: { 'unsupported-dynamic-import': 'error', 'unsupported-require-call': 'error' },
      plugins: [
        {
          name: 'file',
          setup(build) {
            build.onResolve({ filter: /.*/ }, () => ({ path: file.path, namespace: 'app' }));
            build.onLoad({ filter: /.*/ }, () => ({ contents: file.code, loader: file.loader }));
          },
        },
      ],
    });
    return [];
  } catch (error) {
    const { errors } = error as { errors?: Message[] };
    if (!Array.isArray(errors)) throw error;
    return errors
      .filter(({ id, text }) => COMPUTED.includes(id) && !ANY_REQUIRE.test(text))
      .map(({ id, text, location }) => ({ id, text, location }));
  }
}

/** `module` other than in `module.exports`; its letters may be escaped. */
const MAY_CALL = /module|\\u/;
const CALL = /\bmodule\.require\((?!"[^"\\]*"\)|'[^'\\]*'\)|`[^`\\$]*`\))/g;

/**
 * The code without `module.require()` of a computed path; undefined when it has none. esbuild takes such a call for
 * `require()` when it bundles, and only then: it does not report it beforehand. So it is looked for in the code as
 * esbuild itself writes it, without comments, parentheses and escapes that could hide it.
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

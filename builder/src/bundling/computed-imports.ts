import type * as Esbuild from 'esbuild';
import type { Loader, Message, PartialMessage } from 'esbuild';
import type { LanguageOptions } from './ts-config.ts';

/** esbuild's names for an `import()` and a `require()` whose path is not written out. */
const COMPUTED = ['unsupported-dynamic-import', 'unsupported-require-call'];
/** Of the same name, but about any `require()`, because without `bundle` it stays in an ES module. */
const ANY_REQUIRE = /^Converting "require" to "esm"/;

/**
 * The imports of a file whose path is put together, as esbuild sees them. It is called without `bundle`, when it neither
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

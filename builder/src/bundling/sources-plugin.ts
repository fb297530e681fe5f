import type { OnLoadArgs, OnLoadResult, OnResolveArgs, OnResolveResult, PartialMessage, Plugin } from 'esbuild';
import { BuildProblem, refusal } from './build-problem.ts';
import { honoImport, readHonoFile } from './hono-files.ts';
import { loadPackageFile, type PackageLoadContext } from './load-package-file.ts';
import { loadSourceFile } from './load-source-file.ts';
import { fileOf, moduleName } from './module-kind.ts';
import { resolveInPackage } from './package-imports.ts';
import { resolveInSource, type SourceImportContext } from './resolve-in-source.ts';
import { sideEffectsOf } from './package-files.ts';

export interface PluginInput extends SourceImportContext, PackageLoadContext {
  /** `<source>/<path>`. */
  handler: string;
  /** How a file was compiled, kept for the next pass. */
  loaded: Map<string, Promise<OnLoadResult>>;
  /** Who imported a file of a package first: its name for esbuild, and the specifier. */
  importedBy: Map<string, { importer: string; specifier: string }>;
}

/**
 * The virtual file system that esbuild bundles: it answers every import and every load, so that esbuild itself opens no
 * file (B2). Namespaces: `app` the sources, `package` their node_modules, `hono` the platform's JSX, `throws` modules
 * that cannot be used, `entry` the module that we write.
 */
export function sourcesPlugin(input: PluginInput): Plugin {
  return {
    name: 'sources',
    setup(build) {
      build.onResolve({ filter: /.*/ }, (args) => resolve(args, input).catch(asErrors));
      build.onLoad({ filter: /.*/, namespace: 'entry' }, () => ({
        contents: entryModule(input.handler),
        loader: 'js',
      }));
      build.onLoad({ filter: /.*/, namespace: 'app' }, (args) =>
        load(args, input, () => loadSourceFile(fileOf(args.path), args.with, input)),
      );
      build.onLoad({ filter: /.*/, namespace: 'package' }, (args) =>
        load(args, input, () => loadPackageFile(fileOf(args.path), args.with, input)),
      );
      build.onLoad({ filter: /.*/, namespace: 'throws' }, ({ path }) => ({ contents: throwing(path), loader: 'js' }));
      build.onLoad({ filter: /.*/, namespace: 'hono' }, async ({ path }) => ({
        contents: await readHonoFile(input.tools.honoFolder, path),
        loader: 'js',
      }));
      // Anything outside the namespaces above would be read from the disk.
      build.onLoad({ filter: /.*/ }, () => ({
        errors: [refusal('BuildFailed', 'A file outside the sources was requested.')],
      }));
    },
  };
}

/** Through an import, so that `module.exports` and `exports.default` of CommonJS become the default export too. */
const entryModule = (handler: string): string => `export { default } from ${JSON.stringify(handler)};`;

/** Returned, an error has the location of the import; thrown, it would have one in our code. */
function asErrors(error: unknown): { errors: PartialMessage[] } {
  if (error instanceof BuildProblem) return { errors: [refusal(error.reason, error.message)] };
  throw error;
}

/** As CommonJS, which is loaded on demand. */
const throwing = (text: string): string =>
  `module.exports = {};\nthrow Object.assign(new Error(${JSON.stringify(`${text}.`)}), { code: "MODULE_NOT_FOUND" });\n`;

async function resolve(args: OnResolveArgs, input: PluginInput): Promise<OnResolveResult | undefined> {
  if (args.kind === 'entry-point') return { path: input.handler, namespace: 'entry' };
  if (args.namespace === 'entry') return named(input.handler, input);
  if (args.namespace === 'hono')
    return { path: honoImport(args.path, args.importer), namespace: 'hono', sideEffects: false };
  if (args.namespace === 'package') return inPackage(args, input);
  const { file, ...answer } = await resolveInSource(
    { specifier: args.path, importer: fileOf(args.importer), kind: args.kind, with: args.with },
    input,
  );
  if (file === undefined) return answer;
  return remember(await named(file, input), args, input);
}

async function inPackage(args: OnResolveArgs, input: PluginInput): Promise<OnResolveResult | undefined> {
  const found = await resolveInPackage(
    { specifier: args.path, importer: fileOf(args.importer), kind: args.kind },
    input,
  );
  // Without an answer esbuild makes it an error, or leaves it alone where a failure is caught. It has no folder to look
  // in.
  if (found === 'native') return undefined;
  if ('builtin' in found) return { path: found.builtin, external: true };
  if ('throws' in found) return { path: found.throws, namespace: 'throws' };
  if ('problem' in found) return { errors: [refusal('ImportNotFound', `${found.problem}.`)] };
  return remember(await named(found.file, input), args, input);
}

/** A file's name for esbuild, and what its package.json says of it. */
async function named(
  file: string,
  { files, packages, settingsOf }: PluginInput,
): Promise<OnResolveResult & { path: string }> {
  if (packages.folderOf(file) === undefined || files.has(file)) {
    const { type } = await settingsOf(file.slice(0, file.indexOf('/')));
    return { path: moduleName(file, type), namespace: 'app' };
  }
  const { folder, manifest } = await packages.manifestOf(file);
  return {
    path: moduleName(file, manifest.type),
    namespace: 'package',
    sideEffects: sideEffectsOf(file.slice(folder.length + 1), manifest.sideEffects),
  };
}

function remember<T extends { path: string }>(
  answer: T,
  { path: specifier, importer }: OnResolveArgs,
  { importedBy }: PluginInput,
): T {
  if (!importedBy.has(answer.path)) importedBy.set(answer.path, { importer, specifier });
  return answer;
}

function load(
  { namespace, path, with: attributes }: OnLoadArgs,
  { loaded }: PluginInput,
  read: () => Promise<OnLoadResult>,
): Promise<OnLoadResult> {
  const key = JSON.stringify([namespace, path, attributes]);
  const result = loaded.get(key) ?? read();
  loaded.set(key, result);
  return result;
}

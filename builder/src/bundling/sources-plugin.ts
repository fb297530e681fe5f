import type { OnLoadArgs, OnLoadResult, OnResolveArgs, OnResolveResult, Plugin } from 'esbuild';
import { computedImports } from './computed-imports.ts';
import { refusal } from './failure.ts';
import { fileBeside } from './files-beside.ts';
import { honoEntry, honoImport, readHonoFile } from './hono-files.ts';
import { isCode, loaderOf } from './loader-of.ts';
import { resolveImport } from './resolve-import.ts';
import type { SourceFiles } from './source-files.ts';
import type { LanguageOptions } from './ts-config.ts';
import type { Tools } from './tools.ts';
import { fileSourceMap, mayComputeImports } from './unsafe-code.ts';

export interface PluginInput {
  /** `<source>/<path>`. */
  handler: string;
  files: SourceFiles;
  tools: Tools;
  language: LanguageOptions;
  /** Bytes of a single file. */
  maxBytes: number;
}

/**
 * The virtual file system that esbuild bundles: it answers every import and every load, so that esbuild itself opens
 * no file (B2). Namespaces: `app` the sources, `hono` the platform's JSX, `entry` the module that we write.
 */
export function sourcesPlugin(input: PluginInput): Plugin {
  return {
    name: 'sources',
    setup(build) {
      build.onResolve({ filter: /.*/ }, (args) => resolve(args, input));
      build.onLoad({ filter: /.*/, namespace: 'entry' }, () => ({ contents: entryModule(input.handler), loader: 'js' }));
      build.onLoad({ filter: /.*/, namespace: 'app' }, (args) => load(args, input));
      build.onLoad({ filter: /.*/, namespace: 'hono' }, async ({ path }) => ({
        contents: await readHonoFile(input.tools.honoFolder, path),
        loader: 'js',
      }));
      // Whatever came past the namespaces above would be read from the disk.
      build.onLoad({ filter: /.*/ }, () => ({ errors: [refusal('BuildFailed', 'A file outside the sources was asked for.')] }));
    },
  };
}

const SOURCE_MAP = 'A source map cannot be read from a file. Remove this comment, or put the map into it as a data: URL.';

/** Through an import, so that `module.exports` and `exports.default` of CommonJS become the default export too. */
const entryModule = (handler: string): string => `export { default } from ${JSON.stringify(handler)};`;

function resolve(args: OnResolveArgs, { handler, files }: PluginInput): OnResolveResult {
  if (args.kind === 'entry-point') return { path: handler, namespace: 'entry' };
  if (args.namespace === 'entry') return { path: handler, namespace: 'app' };
  if (args.namespace === 'hono') return { path: honoImport(args.path, args.importer), namespace: 'hono', sideEffects: false };
  const hono = honoEntry(args.path);
  if (hono !== undefined) return { path: hono, namespace: 'hono', sideEffects: false };
  const found = resolveImport(args.path, args.importer, files);
  if ('refused' in found) return { errors: [refusal(found.refused, found.text)] };
  if ('builtin' in found) return { path: found.builtin, external: true };
  // Said here, where esbuild adds the place of the import.
  const kind = loaderOf(found.file, args.with);
  if ('problem' in kind) return { errors: [refusal('ImportNotSupported', `Cannot import ${JSON.stringify(args.path)}: ${kind.problem}.`)] };
  return { path: found.file, namespace: 'app' };
}

async function load({ path, with: attributes }: OnLoadArgs, input: PluginInput): Promise<OnLoadResult> {
  const kind = loaderOf(path, attributes);
  if ('problem' in kind) throw new Error(kind.problem);
  if (input.files.sizeOf(path) > input.maxBytes) {
    return { errors: [refusal('BuildTooLarge', `${path} is larger than ${input.maxBytes} bytes. Fetch large data when it is needed.`)] };
  }
  const bytes = await input.files.read(path);
  if (!isCode(kind.loader)) return { contents: bytes, loader: kind.loader };
  const code = bytes.toString('utf8');
  const errors = await unsupported({ path, code, loader: kind.loader }, input);
  return errors.length > 0 ? { errors } : { contents: code, loader: kind.loader };
}

type Code = Parameters<typeof computedImports>[0];

/** What would make esbuild read the disk by itself, or the function look for files that it will not have. */
async function unsupported(file: Code, { tools, language }: PluginInput): Promise<NonNullable<OnLoadResult['errors']>> {
  const map = fileSourceMap(file.code);
  const found = map === null ? fileBeside(file.code) : { index: map.index, text: SOURCE_MAP };
  if (found !== undefined) return [{ ...refusal('ImportNotSupported', found.text), location: placeOf(file, found.index) }];
  return mayComputeImports(file.code) ? computedImports(file, tools.esbuild, language) : [];
}

function placeOf({ path, code }: Code, index: number): { file: string; line: number; column: number; lineText: string } {
  const before = code.slice(0, index).split('\n');
  const start = before.at(-1) ?? '';
  const lineText = start + (code.slice(index).split('\n')[0] ?? '');
  return { file: `app:${path}`, line: before.length, column: Buffer.byteLength(start), lineText };
}

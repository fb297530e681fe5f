import type { Loader, OnLoadResult, PartialMessage } from 'esbuild';
import { nativeAddOnText } from './describe-errors.ts';
import { refusal } from './build-problem.ts';
import { tooLarge, type LoadContext } from './load-source-file.ts';
import { isCode, loaderOf } from './loader-of.ts';
import { packageCode } from './package-code.ts';
import type { PackageFiles } from './package-files.ts';

export interface PackageLoadContext extends LoadContext {
  packages: PackageFiles;
}

/** A file of a package, made safe to bundle. An unknown file type is JavaScript, as for Node's `require`. */
export async function loadPackageFile(
  path: string,
  attributes: Record<string, string>,
  context: PackageLoadContext,
): Promise<OnLoadResult> {
  const bytes = await context.packages.read(path);
  if (bytes.byteLength > context.maxBytes) return tooLarge(path, context.maxBytes);
  const kind = loaderOf(path, attributes);
  const loader: Loader = 'problem' in kind ? 'js' : kind.loader;
  if (!isCode(loader)) return { contents: bytes, loader };
  const code = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const safe = await packageCode({ path, code, loader }, context.tools.esbuild, context.language);
  const addOn = safe.computed || code.includes('createRequire') ? addOnOf({ path, code }, context.packages) : undefined;
  return addOn === undefined ? { contents: safe.code, loader } : { errors: [addOn] };
}

/**
 * A string that ends in the name of a native add-on's file, literal or computed; `process.versions.node` is not one.
 */
const ADD_ON_FILE = /(?<=[\w}-])(?<!versions|engines)\.node['"`]/;

/**
 * For code that loads something chosen at run time: whether it looks for a native add-on, as many packages do that
 * choose one by platform. Undefined for an optional package, which the others can do without.
 */
function addOnOf({ path, code }: { path: string; code: string }, packages: PackageFiles): PartialMessage | undefined {
  const locked = packages.locked(packages.folderOf(path) ?? '');
  const index = code.search(ADD_ON_FILE);
  if (locked === undefined || locked.optional === true || index === -1) return undefined;
  const before = code.slice(0, index).split('\n');
  const start = before.at(-1) ?? '';
  const lineText = start + (code.slice(index).split('\n')[0] ?? '');
  const location = { file: `package:${path}`, line: before.length, column: Buffer.byteLength(start), lineText };
  return { ...refusal('ImportNotSupported', nativeAddOnText(locked.name)), location };
}

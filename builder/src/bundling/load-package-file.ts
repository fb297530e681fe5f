import type { Loader, OnLoadResult } from 'esbuild';
import { nativeAddOnText } from './describe-errors.ts';
import { refusal } from './failure.ts';
import { tooLarge, type LoadRooms } from './load-source-file.ts';
import { isCode, loaderOf } from './loader-of.ts';
import { packageCode } from './package-code.ts';
import type { PackageFiles } from './package-files.ts';

export interface PackageLoadRooms extends LoadRooms {
  packages: PackageFiles;
}

/** A file of a package, made safe to bundle. A kind that nobody knows is JavaScript, as Node takes it for `require`. */
export async function loadPackageFile(path: string, attributes: Record<string, string>, rooms: PackageLoadRooms): Promise<OnLoadResult> {
  const bytes = await rooms.packages.read(path);
  if (bytes.byteLength > rooms.maxBytes) return tooLarge(path, rooms.maxBytes);
  const kind = loaderOf(path, attributes);
  const loader: Loader = 'problem' in kind ? 'js' : kind.loader;
  if (!isCode(loader)) return { contents: bytes, loader };
  const code = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const safe = await packageCode({ path, code, loader }, rooms.tools.esbuild, rooms.language);
  const [place] = safe.computed;
  const name = addOnName(path, code, rooms.packages);
  if (place === undefined || name === undefined) return { contents: safe.code, loader };
  return { errors: [{ ...refusal('ImportNotSupported', nativeAddOnText(name)), location: { ...place.location, file: `package:${path}` } }] };
}

/** A string that ends in the name of a native add-on's file, whole or put together; `process.versions.node` is none. */
const ADD_ON_FILE = /(?<=[\w}-])(?<!versions|engines)\.node['"`]/;

/**
 * The package that puts the path of a native add-on together and loads it, as many do that choose one by the platform.
 * Undefined for an optional one, without which the others do.
 */
function addOnName(path: string, code: string, packages: PackageFiles): string | undefined {
  const locked = packages.locked(packages.folderOf(path) ?? '');
  return locked?.optional !== true && ADD_ON_FILE.test(code) ? locked?.name : undefined;
}

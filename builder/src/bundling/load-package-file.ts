import type { Loader, OnLoadResult } from 'esbuild';
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
  return { contents: await packageCode({ path, code, loader }, rooms.tools.esbuild, rooms.language), loader };
}

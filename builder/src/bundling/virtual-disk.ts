import { parseJson, type PackageFiles } from './package-files.ts';
import type { SourceFiles } from './source-files.ts';

type Callback<T> = (error: Error | null, value?: T) => void;

/** What the resolver of packages knows as a file system: absolute paths, whose root holds the sources' folders. */
export interface VirtualDisk {
  stat(path: string, callback: Callback<{ isFile(): boolean; isDirectory(): boolean }>): void;
  readJson(path: string, callback: Callback<object>): void;
  readFile(path: string, callback: Callback<Buffer>): void;
  readlink(path: string, callback: Callback<string>): void;
  readdir(path: string, callback: Callback<string[]>): void;
}

/** The sources and their packages, and nothing else (B2). */
export function virtualDisk(sources: SourceFiles, packages: PackageFiles): VirtualDisk {
  async function kindOf(path: string): Promise<'file' | 'folder' | undefined> {
    if (sources.has(path)) return 'file';
    return (await packages.kindOf(path)) ?? (sources.hasFolder(path) ? 'folder' : undefined);
  }

  async function read(path: string): Promise<Buffer> {
    if (sources.has(path)) return sources.read(path);
    if ((await packages.kindOf(path)) !== 'file') throw missing(path);
    return Buffer.from(await packages.read(path));
  }

  async function stat(path: string): Promise<{ isFile(): boolean; isDirectory(): boolean }> {
    const kind = await kindOf(path);
    if (kind === undefined) throw missing(path);
    return { isFile: () => kind === 'file', isDirectory: () => kind === 'folder' };
  }

  return {
    stat: (path, callback) => callBack(stat(inside(path)), callback),
    readJson: (path, callback) =>
      callBack(
        read(inside(path)).then((bytes) => parseJson(bytes) as object),
        callback,
      ),
    readFile: (path, callback) => callBack(read(inside(path)), callback),
    readlink: (path, callback) => callback(missing(path)),
    readdir: (path, callback) => callback(missing(path)),
  };
}

const inside = (path: string): string => path.replace(/^\/+/, '').replace(/\/+$/, '');

const missing = (path: string): Error => Object.assign(new Error(`there is no ${path}`), { code: 'ENOENT' });

function callBack<T>(promise: Promise<T>, callback: Callback<T>): void {
  promise.then(
    (value) => callback(null, value),
    (error: unknown) => callback(error as Error),
  );
}

import type { LockedPackage, PackageLayout } from '../packages/package-registry.ts';
import { matchesGlob } from 'node:path';

/** The parts of a package.json that control how its files are read. */
interface PackageManifest {
  type?: unknown;
  sideEffects?: unknown;
}

/**
 * The virtual node_modules of all sources: paths are `<source>/node_modules/…`. Tarballs are fetched when they are
 * first accessed.
 */
export interface PackageFiles {
  /** Whether the source has a node_modules. */
  hasSource(source: string): boolean;
  /**
   * The folder that an `npm:` import of a source means, by `name` or `name@range`; undefined when there is no such
   * import.
   */
  folderFor(source: string, spec: string): string | undefined;
  /** The folder of the package of this name that code in `folder` sees, found upwards as Node does. */
  find(name: string, folder: string): string | undefined;
  /** The package's folder in which a path lies, undefined for a path in none. */
  folderOf(path: string): string | undefined;
  locked(folder: string): LockedPackage | undefined;
  kindOf(path: string): Promise<'file' | 'folder' | undefined>;
  /** @throws Error when there is no such file. */
  read(path: string): Promise<Uint8Array>;
  /** The nearest package.json above a file in its package; empty when there is none, or none that can be read. */
  manifestOf(file: string): Promise<{ folder: string; manifest: PackageManifest }>;
}

interface Unpacked {
  files: ReadonlyMap<string, Uint8Array>;
  folders: ReadonlySet<string>;
}

type Load = (locked: LockedPackage) => Promise<ReadonlyMap<string, Uint8Array>>;

/** @param load resolves with the files of a tarball by path in the package; it is called once for each tarball. */
export function packageFiles(layouts: Record<string, PackageLayout>, load: Load): PackageFiles {
  const packages = new Map<string, LockedPackage>(
    Object.entries(layouts).flatMap(([source, layout]) =>
      Object.entries(layout.packages).map(([folder, locked]) => [`${source}/${folder}`, locked] as const),
    ),
  );
  const outer = new Set([...packages.keys()].flatMap((folder) => [folder, ...above(folder)]));
  const unpacked = new Map<string, Promise<Unpacked>>();
  const manifests = new Map<string, Promise<{ folder: string; manifest: PackageManifest }>>();

  function folderOf(path: string): string | undefined {
    if (packages.has(path)) return path;
    return above(path).find((folder) => packages.has(folder));
  }

  async function locate(path: string): Promise<{ inner: string; unpacked: Unpacked } | undefined> {
    const folder = folderOf(path);
    const locked = folder === undefined ? undefined : packages.get(folder);
    if (folder === undefined || locked === undefined) return undefined;
    const files = remember(unpacked, locked.integrity, () => load(locked).then(withFolders));
    return { inner: path.slice(folder.length + 1), unpacked: await files };
  }

  async function bytesOf(path: string): Promise<Uint8Array | undefined> {
    const found = await locate(path);
    return found?.unpacked.files.get(found.inner);
  }

  async function manifestIn(folder: string): Promise<{ folder: string; manifest: PackageManifest }> {
    const bytes = await bytesOf(`${folder}/package.json`);
    if (bytes !== undefined) return { folder, manifest: parsed(bytes) };
    return packages.has(folder) ? { folder, manifest: {} } : manifestAt(above(folder)[0] ?? '');
  }

  const manifestAt = (folder: string): ReturnType<typeof manifestIn> =>
    remember(manifests, folder, () => manifestIn(folder));

  return {
    hasSource: (source) => Object.hasOwn(layouts, source),
    folderFor(source, spec) {
      const folders = Object.hasOwn(layouts, source) ? layouts[source]?.folders : undefined;
      return folders !== undefined && Object.hasOwn(folders, spec) ? folders[spec] : undefined;
    },
    find(name, folder) {
      return [folder, ...above(folder)].map((one) => `${one}/node_modules/${name}`).find((one) => packages.has(one));
    },
    folderOf,
    locked: (folder) => packages.get(folder),
    async kindOf(path) {
      if (outer.has(path)) return 'folder';
      const found = await locate(path);
      if (found === undefined) return undefined;
      if (found.unpacked.files.has(found.inner)) return 'file';
      return found.unpacked.folders.has(found.inner) ? 'folder' : undefined;
    },
    async read(path) {
      const bytes = await bytesOf(path);
      if (bytes === undefined) throw new Error('a file that is in no package was requested');
      return bytes;
    },
    manifestOf: (file) => manifestAt(above(file)[0] ?? ''),
  };
}

/** The known answer, or a new one. A failure is forgotten, because a retry may succeed. */
function remember<T>(known: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const before = known.get(key);
  if (before !== undefined) return before;
  const answer = make();
  known.set(key, answer);
  answer.catch(() => known.delete(key));
  return answer;
}

/** The folders above a path, from the nearest on. */
function above(path: string): string[] {
  const folders: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) folders.push(path.slice(0, end));
  return folders;
}

function withFolders(files: ReadonlyMap<string, Uint8Array>): Unpacked {
  const folders = new Set<string>();
  for (const file of files.keys()) {
    for (const folder of above(file)) {
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return { files, folders };
}

/** A package.json may begin with a byte order mark. @throws SyntaxError */
export const parseJson = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));

function parsed(bytes: Uint8Array): PackageManifest {
  try {
    const value = parseJson(bytes);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/**
 * Whether a file must be kept though nothing of it is used, as its package.json's `sideEffects` says: `false`, or the
 * patterns of those files that have some.
 * @param file path in the package.
 */
export function sideEffectsOf(file: string, declared: unknown): boolean {
  if (declared === false) return false;
  if (!Array.isArray(declared)) return true;
  return declared.some((pattern) => typeof pattern === 'string' && matchesPattern(file, pattern.replace(/^\.?\//, '')));
}

/** A pattern without a slash is about files in any folder. */
function matchesPattern(file: string, pattern: string): boolean {
  return file === pattern || matchesGlob(file, pattern.includes('/') ? pattern : `**/${pattern}`);
}

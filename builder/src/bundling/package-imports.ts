import { isBuiltin } from 'node:module';
import type { ImportKind } from 'esbuild';
import type { PackageFiles } from './package-files.ts';
import type { ImportStyle, PackageResolver } from './package-resolver.ts';

/** Where an import in a package's code leads. */
type PackageResolution =
  | { file: string }
  | { builtin: string }
  /** Nowhere, but that matters only at run time: a module that throws this when it is loaded. */
  | { throws: string }
  /** A native add-on: an error, but for a `require` whose failure the package handles. */
  | 'native'
  | { problem: string };

export interface PackageImportContext {
  packages: PackageFiles;
  resolver: PackageResolver;
}

/** Packages whose one purpose is to load a native add-on. */
const NATIVE_LOADERS = new Set([
  'bindings',
  'node-gyp-build',
  'node-gyp-build-optional-packages',
  'node-pre-gyp',
  '@mapbox/node-pre-gyp',
  'nbind',
  'ffi-napi',
  'pkg-prebuilds',
]);

/** How an import requests a module. */
export const styleOf = (kind: ImportKind): ImportStyle =>
  kind === 'require-call' || kind === 'require-resolve' ? 'require' : 'import';

/** The package that a specifier names; undefined for one that names none. */
export const packageName = (specifier: string): string | undefined =>
  /^(?:@[^/\\%]+\/)?[^./@#\\%:][^/\\%:]*/.exec(specifier)?.[0];

/** @param importer the package's file in which the specifier stands. */
export async function resolveInPackage(
  { specifier, importer, kind }: { specifier: string; importer: string; kind: ImportKind },
  context: PackageImportContext,
): Promise<PackageResolution> {
  // What Node would resolve at run time is left to run time.
  if (isBuiltin(specifier) || kind === 'require-resolve') return { builtin: specifier };
  const found = await find(specifier, importer, styleOf(kind), context);
  const native = nativeAddOn(specifier, found);
  const owner = describe(context.packages, importer);
  if (native) {
    const text = `${owner} is a native add-on, which cannot run here`;
    return isOptional(context.packages, importer) ? { throws: text } : 'native';
  }
  if ('file' in found) return found;
  const text = `Cannot import ${JSON.stringify(specifier)} in ${owner}: ${found.problem}`;
  return kind === 'import-statement' ? { problem: text } : { throws: text };
}

async function find(
  specifier: string,
  importer: string,
  style: ImportStyle,
  { packages, resolver }: PackageImportContext,
): Promise<{ file: string } | { problem: string }> {
  const own = packages.folderOf(importer) ?? '';
  const folder = importer.slice(0, importer.lastIndexOf('/'));
  if (/^\.{1,2}(?:\/|$)/.test(specifier)) return findRelative(specifier, folder, own, { packages, resolver });
  if (specifier.startsWith('#')) return within(await resolver.resolve(specifier, folder, style), packages);
  const name = packageName(specifier);
  if (name === undefined)
    return { problem: 'packages can import packages, their own files and the modules of Node.js' };
  return findPackage(specifier, folder, style, { packages, resolver });
}

/**
 * What a bare specifier means to code in a folder. A package whose `exports` or `main` point out of it is refused (B2).
 * @param folder `<source>` or a folder in a package.
 */
export async function findPackage(
  specifier: string,
  folder: string,
  style: ImportStyle,
  { packages, resolver }: PackageImportContext,
): Promise<{ file: string } | { problem: string }> {
  const name = packageName(specifier) ?? specifier;
  const target = ownName(name, folder, packages) ?? packages.find(name, folder);
  if (target === undefined) return { problem: `there is no package ${name}` };
  // An unusable tarball is reported here; the resolver would only see a missing file.
  await packages.kindOf(`${target}/package.json`);
  const found = await resolver.resolve(specifier, folder, style);
  if ('file' in found)
    return packages.folderOf(found.file) === target
      ? found
      : { problem: `${describe(packages, target)} points outside its own files` };
  return { problem: `${describe(packages, target)}: ${found.problem}` };
}

/** A package may import itself by its name. */
function ownName(name: string, folder: string, packages: PackageFiles): string | undefined {
  const own = packages.folderOf(folder);
  return own !== undefined && packages.locked(own)?.name === name ? own : undefined;
}

async function findRelative(
  specifier: string,
  folder: string,
  own: string,
  { packages, resolver }: PackageImportContext,
): Promise<{ file: string } | { problem: string }> {
  const path = join(folder, specifier);
  // Not even its neighbour in node_modules, nor the code of the author.
  if (path !== own && !path.startsWith(`${own}/`)) return { problem: 'it points outside the package' };
  if (!specifier.endsWith('/')) {
    for (const file of [path, `${path}.js`, `${path}.json`])
      if ((await packages.kindOf(file)) === 'file') return sameOwner(file, own, packages);
  }
  const found = await resolver.resolve(specifier, folder, 'require');
  return 'file' in found ? sameOwner(found.file, own, packages) : found;
}

const sameOwner = (file: string, own: string, packages: PackageFiles): { file: string } | { problem: string } =>
  packages.folderOf(file) === own ? { file } : { problem: 'it points outside the package' };

const within = (found: { file: string } | { problem: string }, packages: PackageFiles): typeof found =>
  'file' in found && packages.folderOf(found.file) === undefined ? { problem: 'it points outside the package' } : found;

function join(folder: string, specifier: string): string {
  const segments = folder.split('/');
  for (const segment of specifier.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '.' && segment !== '') segments.push(segment);
  }
  return segments.join('/');
}

const nativeAddOn = (specifier: string, found: { file: string } | { problem: string }): boolean =>
  specifier.endsWith('.node') ||
  ('file' in found && found.file.endsWith('.node')) ||
  NATIVE_LOADERS.has(packageName(specifier) ?? '');

const isOptional = (packages: PackageFiles, file: string): boolean => {
  const folder = packages.folderOf(file);
  return folder !== undefined && packages.locked(folder)?.optional === true;
};

/** `name 1.2.3`, for messages. */
function describe(packages: PackageFiles, path: string): string {
  const locked = packages.locked(packages.folderOf(path) ?? '');
  return locked === undefined ? path : `${locked.name} ${locked.version}`;
}

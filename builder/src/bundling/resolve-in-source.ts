import type { OnResolveResult, PartialMessage, ImportKind } from 'esbuild';
import type { NpmSpecifier } from '../packages/npm-specifier.ts';
import { packageRequirement, refusal } from './build-problem.ts';
import { honoEntry } from './hono-files.ts';
import { loaderOf } from './loader-of.ts';
import { findPackage, packageName, styleOf, type PackageImportContext } from './package-imports.ts';
import { resolveImport, sourceFile } from './resolve-import.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceSettings } from './source-settings.ts';
import { mappedPaths } from './ts-config.ts';

interface SourceImport {
  specifier: string;
  /** `<source>/<path>` of the file in which it stands. */
  importer: string;
  kind: ImportKind;
  with: Record<string, string>;
}

export interface SourceImportContext extends PackageImportContext {
  files: SourceFiles;
  settingsOf: (source: string) => Promise<SourceSettings>;
  /** Whether packages are known. Before that, what needs them is an error that names them. */
  packagesKnown: boolean;
}

type Found = { file: string } | { hono: string } | { builtin: string } | { errors: PartialMessage[] };

/** Where an import in an author's file leads. */
export async function resolveInSource(
  requested: SourceImport,
  context: SourceImportContext,
): Promise<OnResolveResult & { file?: string }> {
  const found = await find(requested, context);
  if ('errors' in found) return found;
  if ('builtin' in found) return { path: found.builtin, external: true };
  if ('hono' in found) return { path: found.hono, namespace: 'hono', sideEffects: false };
  // Reported here, where esbuild adds the location of the import.
  const kind = context.files.has(found.file) ? loaderOf(found.file, requested.with) : undefined;
  if (kind !== undefined && 'problem' in kind) return refused(requested, kind.problem);
  return found;
}

const refused = ({ specifier }: SourceImport, why: string): { errors: PartialMessage[] } => ({
  errors: [refusal('ImportNotSupported', `Cannot import ${JSON.stringify(specifier)}: ${why}.`)],
});

async function find(requested: SourceImport, context: SourceImportContext): Promise<Found> {
  const found = resolveImport(requested.specifier, requested.importer, context.files);
  if ('refused' in found) return { errors: [refusal(found.refused, found.text)] };
  if ('npm' in found) return findNpm(requested, found.npm, context);
  return 'bare' in found ? findBare(requested, context) : found;
}

async function findNpm(requested: SourceImport, npm: NpmSpecifier, context: SourceImportContext): Promise<Found> {
  const source = sourceOf(requested.importer);
  if (!context.packagesKnown) return requirementOf(requested, npm.name, requested.specifier);
  const folder = context.packages.folderFor(source, npm.spec);
  if (folder === undefined) return notFound(requested, `it is not among the packages of source ${source}`);
  return inPackage(requested, npm.subpath === '' ? folder : `${folder}/${npm.subpath}`, context);
}

async function findBare(requested: SourceImport, context: SourceImportContext): Promise<Found> {
  const { specifier } = requested;
  const source = sourceOf(requested.importer);
  const settings = await context.settingsOf(source);
  const mapped = await inMapping(source, specifier, settings, context.files);
  if (mapped !== undefined) return mapped;
  if (specifier.startsWith('#')) return findPrivate(requested, settings, context);
  const name = packageName(specifier);
  if (name === undefined) return notFound(requested, 'import files by a relative path that begins with ./ or ../');
  const hono = honoEntry(specifier);
  // The platform's, unless the source has a Hono of its own.
  if (
    hono !== undefined &&
    (context.packagesKnown ? context.packages.find('hono', source) : settings.listed('hono')) === undefined
  )
    return { hono };
  if (!context.packagesKnown) return requirementOf(requested, name, undefined);
  if (context.packages.find(name, source) === undefined)
    return (await ofOwnName(requested, context)) ?? unlisted(requested, name, settings);
  return inPackage(requested, specifier, context);
}

async function inMapping(
  source: string,
  specifier: string,
  settings: SourceSettings,
  files: SourceFiles,
): Promise<{ file: string } | undefined> {
  for (const candidate of mappedPaths(specifier, settings.mapping)) {
    const file = sourceFile(`${source}/${candidate}`, files);
    if (file !== undefined) return { file };
  }
  return undefined;
}

/** `#name`, by `imports` of the source's package.json. */
async function findPrivate(
  requested: SourceImport,
  settings: SourceSettings,
  context: SourceImportContext,
): Promise<Found> {
  const source = sourceOf(requested.importer);
  if (!settings.hasManifest)
    return notFound(requested, `source ${source} has no package.json with an imports entry for it`);
  const found = await context.resolver.resolve(requested.specifier, source, styleOf(requested.kind));
  if ('file' in found && isOf(source, found.file, context)) return found;
  return context.packagesKnown
    ? notFound(requested, 'problem' in found ? found.problem : 'it points outside the source')
    : requirementOf(requested, requested.specifier, undefined);
}

/** A source may import itself by the name in its package.json. */
async function ofOwnName(
  { specifier, importer, kind }: SourceImport,
  context: SourceImportContext,
): Promise<{ file: string } | undefined> {
  const source = sourceOf(importer);
  const found = await context.resolver.resolve(specifier, source, styleOf(kind));
  return 'file' in found && context.files.has(found.file) && isOf(source, found.file, context) ? found : undefined;
}

const isOf = (source: string, file: string, { packages }: SourceImportContext): boolean =>
  packages.folderOf(file) !== undefined || file.startsWith(`${source}/`);

async function inPackage(requested: SourceImport, specifier: string, context: SourceImportContext): Promise<Found> {
  const found = await findPackage(specifier, sourceOf(requested.importer), styleOf(requested.kind), context);
  return 'file' in found ? found : notFound(requested, found.problem);
}

function unlisted(requested: SourceImport, name: string, settings: SourceSettings): Found {
  const source = sourceOf(requested.importer);
  const field = settings.listed(name);
  const advice = `or import ${JSON.stringify(`npm:${requested.specifier}`)}`;
  if (field === 'devDependencies')
    return notFound(
      requested,
      `${name} is among the devDependencies of ${source}/package.json. Move it to its dependencies`,
    );
  if (settings.hasManifest)
    return notFound(
      requested,
      `${name} is not among the dependencies of ${source}/package.json. Add it there, ${advice}`,
    );
  return notFound(requested, `source ${source} has no package.json that lists ${name}. Add one, ${advice}`);
}

const requirementOf = (
  requested: SourceImport,
  name: string,
  specifier: string | undefined,
): { errors: PartialMessage[] } => ({
  errors: [
    packageRequirement(
      { source: sourceOf(requested.importer), specifier, name },
      `Cannot import ${JSON.stringify(requested.specifier)}: its packages are not known.`,
    ),
  ],
});

const notFound = ({ specifier }: SourceImport, why: string): { errors: PartialMessage[] } => ({
  errors: [refusal('ImportNotFound', `Cannot import ${JSON.stringify(specifier)}: ${why}.`)],
});

const sourceOf = (file: string): string => file.slice(0, file.indexOf('/'));

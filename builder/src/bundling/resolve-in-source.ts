import type { OnResolveResult, PartialMessage } from 'esbuild';
import type { NpmSpecifier } from '../packages/npm-specifier.ts';
import { packageAsk, refusal } from './failure.ts';
import { honoEntry } from './hono-files.ts';
import { loaderOf } from './loader-of.ts';
import { findPackage, packageName, styleOf, type PackageRooms } from './package-imports.ts';
import { resolveImport, sourceFile } from './resolve-import.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceSettings } from './source-settings.ts';
import { mappedPaths } from './ts-config.ts';
import type { ImportKind } from 'esbuild';

export interface SourceImport {
  specifier: string;
  /** `<source>/<path>` of the file in which it stands. */
  importer: string;
  kind: ImportKind;
  with: Record<string, string>;
}

export interface SourceRooms extends PackageRooms {
  files: SourceFiles;
  settingsOf: (source: string) => Promise<SourceSettings>;
  /** Whether packages are known. Before that, what needs them is an error that asks for them. */
  packagesKnown: boolean;
}

type Found = { file: string } | { hono: string } | { builtin: string } | { errors: PartialMessage[] };

/** Where an import in an author's file leads. */
export async function resolveInSource(
  asked: SourceImport,
  rooms: SourceRooms,
): Promise<OnResolveResult & { file?: string }> {
  const found = await find(asked, rooms);
  if ('errors' in found) return found;
  if ('builtin' in found) return { path: found.builtin, external: true };
  if ('hono' in found) return { path: found.hono, namespace: 'hono', sideEffects: false };
  // Said here, where esbuild adds the place of the import.
  const kind = rooms.files.has(found.file) ? loaderOf(found.file, asked.with) : undefined;
  if (kind !== undefined && 'problem' in kind) return refused(asked, kind.problem);
  return found;
}

const refused = ({ specifier }: SourceImport, why: string): { errors: PartialMessage[] } => ({
  errors: [refusal('ImportNotSupported', `Cannot import ${JSON.stringify(specifier)}: ${why}.`)],
});

async function find(asked: SourceImport, rooms: SourceRooms): Promise<Found> {
  const found = resolveImport(asked.specifier, asked.importer, rooms.files);
  if ('refused' in found) return { errors: [refusal(found.refused, found.text)] };
  if ('npm' in found) return findNpm(asked, found.npm, rooms);
  return 'bare' in found ? findBare(asked, rooms) : found;
}

async function findNpm(asked: SourceImport, npm: NpmSpecifier, rooms: SourceRooms): Promise<Found> {
  const source = sourceOf(asked.importer);
  if (!rooms.packagesKnown) return ask(asked, npm.name, asked.specifier);
  const folder = rooms.packages.folderAsked(source, npm.asked);
  if (folder === undefined) return notFound(asked, `the packages of source ${source} do not have it`);
  return inPackage(asked, npm.subpath === '' ? folder : `${folder}/${npm.subpath}`, rooms);
}

async function findBare(asked: SourceImport, rooms: SourceRooms): Promise<Found> {
  const { specifier } = asked;
  const source = sourceOf(asked.importer);
  const settings = await rooms.settingsOf(source);
  const mapped = await inMapping(source, specifier, settings, rooms.files);
  if (mapped !== undefined) return mapped;
  if (specifier.startsWith('#')) return findPrivate(asked, settings, rooms);
  const name = packageName(specifier);
  if (name === undefined) return notFound(asked, 'files are imported by relative paths that begin with ./ or ../');
  const hono = honoEntry(specifier);
  // The platform's, unless the source has a Hono of its own.
  if (
    hono !== undefined &&
    (rooms.packagesKnown ? rooms.packages.find('hono', source) : settings.listed('hono')) === undefined
  )
    return { hono };
  if (!rooms.packagesKnown) return ask(asked, name, undefined);
  if (rooms.packages.find(name, source) === undefined)
    return (await ofOwnName(asked, rooms)) ?? unlisted(asked, name, settings);
  return inPackage(asked, specifier, rooms);
}

async function inMapping(
  source: string,
  specifier: string,
  settings: SourceSettings,
  files: SourceFiles,
): Promise<{ file: string } | undefined> {
  for (const place of mappedPaths(specifier, settings.mapping)) {
    const file = sourceFile(`${source}/${place}`, files);
    if (file !== undefined) return { file };
  }
  return undefined;
}

/** `#name`, by `imports` of the source's package.json. */
async function findPrivate(asked: SourceImport, settings: SourceSettings, rooms: SourceRooms): Promise<Found> {
  const source = sourceOf(asked.importer);
  if (!settings.hasManifest) return notFound(asked, `source ${source} has no package.json whose imports could name it`);
  const found = await rooms.resolver.resolve(asked.specifier, source, styleOf(asked.kind));
  if ('file' in found && isOf(source, found.file, rooms)) return found;
  return rooms.packagesKnown
    ? notFound(asked, 'problem' in found ? found.problem : 'it leads out of the source')
    : ask(asked, asked.specifier, undefined);
}

/** A source may import itself by the name in its package.json. */
async function ofOwnName(
  { specifier, importer, kind }: SourceImport,
  rooms: SourceRooms,
): Promise<{ file: string } | undefined> {
  const source = sourceOf(importer);
  const found = await rooms.resolver.resolve(specifier, source, styleOf(kind));
  return 'file' in found && rooms.files.has(found.file) && isOf(source, found.file, rooms) ? found : undefined;
}

const isOf = (source: string, file: string, { packages }: SourceRooms): boolean =>
  packages.folderOf(file) !== undefined || file.startsWith(`${source}/`);

async function inPackage(asked: SourceImport, specifier: string, rooms: SourceRooms): Promise<Found> {
  const found = await findPackage(specifier, sourceOf(asked.importer), styleOf(asked.kind), rooms);
  return 'file' in found ? found : notFound(asked, found.problem);
}

function unlisted(asked: SourceImport, name: string, settings: SourceSettings): Found {
  const source = sourceOf(asked.importer);
  const field = settings.listed(name);
  const advice = `or import ${JSON.stringify(`npm:${asked.specifier}`)}`;
  if (field === 'devDependencies')
    return notFound(
      asked,
      `${name} is among the devDependencies of ${source}/package.json. Move it to its dependencies`,
    );
  if (settings.hasManifest)
    return notFound(asked, `${name} is not among the dependencies of ${source}/package.json. Add it there, ${advice}`);
  return notFound(asked, `source ${source} has no package.json that lists ${name}. Add one, ${advice}`);
}

const ask = (asked: SourceImport, name: string, specifier: string | undefined): { errors: PartialMessage[] } => ({
  errors: [
    packageAsk(
      { source: sourceOf(asked.importer), specifier, name },
      `Cannot import ${JSON.stringify(asked.specifier)}: its packages are not known.`,
    ),
  ],
});

const notFound = ({ specifier }: SourceImport, why: string): { errors: PartialMessage[] } => ({
  errors: [refusal('ImportNotFound', `Cannot import ${JSON.stringify(specifier)}: ${why}.`)],
});

const sourceOf = (file: string): string => file.slice(0, file.indexOf('/'));

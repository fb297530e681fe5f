import { issueMessage } from '@wherry/core/issue-message.ts';
import { z } from 'zod';
import { parseJson } from './check-manifest.ts';
import { strongestIntegrity } from '../blob-exchange/integrity.ts';
import { specProblem } from './npm-specifier.ts';
import { packageFailure, placeOfKey } from './package-failure.ts';
import type { PackageFailure } from './package-registry.ts';

const specs = z.record(z.string(), z.string()).exactOptional();
const names = z.union([z.array(z.string()), z.boolean()]).exactOptional();
const platforms = z.union([z.array(z.string()), z.string()]).exactOptional();

/** An entry of a lock, with what decides which package lies where, and nothing that names an address. */
export const lockEntrySchema = z.object({
  name: z.string().exactOptional(),
  version: z.string().exactOptional(),
  integrity: z.string().exactOptional(),
  dependencies: specs,
  optionalDependencies: specs,
  peerDependencies: specs,
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean().exactOptional() })).exactOptional(),
  bundleDependencies: names,
  optional: z.boolean().exactOptional(),
  os: platforms,
  cpu: platforms,
  libc: platforms,
});
export type LockEntry = z.infer<typeof lockEntrySchema>;

const lockSchema = z.object({
  lockfileVersion: z.number(),
  packages: z
    .record(
      z.string(),
      lockEntrySchema.extend({
        resolved: z.union([z.string(), z.boolean()]).exactOptional(),
        link: z.boolean().exactOptional(),
        dev: z.boolean().exactOptional(),
        inBundle: z.boolean().exactOptional(),
      }),
    )
    .exactOptional(),
});
type ForeignEntry = NonNullable<z.infer<typeof lockSchema>['packages']>[string];

const FOLDER = /^node_modules\/(?:@[^/]+\/)?[^/]+(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*$/;
const VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;

/**
 * Reads an author's lock and refuses, by name, whatever is not a registry tarball with integrity (B3). The addresses in
 * it are not used: each version is requested from the configured registry, and must have the lock's integrity. Entries
 * for development, and those that lie inside another package's tarball, are left out.
 */
export function checkLock(
  file: string,
  text: string,
): { packages: Record<string, LockEntry> } | { failure: PackageFailure } {
  const read = readLock(file, text);
  if ('failure' in read) return read;
  const taken = Object.entries(read.packages).filter(
    ([folder, entry]) => folder !== '' && entry.dev !== true && entry.inBundle !== true,
  );
  for (const [folder, entry] of taken) {
    const problem = entryProblem(folder, entry);
    if (problem !== undefined)
      return {
        failure: packageFailure(
          'PackageRefused',
          `${file}: ${folder} cannot be used: ${problem}.`,
          placeOfKey(file, text, folder),
        ),
      };
  }
  const entries = taken.map(
    ([folder, entry]) =>
      [
        folder,
        { ...lockEntrySchema.parse(entry), integrity: strongestIntegrity(entry.integrity ?? '') ?? '' },
      ] as const,
  );
  return { packages: Object.fromEntries(entries) };
}

function readLock(
  file: string,
  text: string,
): { packages: Record<string, ForeignEntry> } | { failure: PackageFailure } {
  const json = parseJson(file, text);
  if ('failure' in json) return json;
  const parsed = lockSchema.safeParse(json.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return {
      failure: packageFailure(
        'ManifestInvalid',
        `${file}: ${issue?.path.join('.') || 'the file'} ${issueMessage(issue?.message ?? '')}.`,
      ),
    };
  }
  const { lockfileVersion, packages } = parsed.data;
  if (packages !== undefined && lockfileVersion >= 2) return { packages };
  return {
    failure: packageFailure(
      'ManifestInvalid',
      `${file} has lockfileVersion ${lockfileVersion}. Regenerate it with npm 7 or later (npm install --package-lock-only).`,
    ),
  };
}

function entryProblem(folder: string, entry: ForeignEntry): string | undefined {
  if (entry.link === true) return 'it is a link to a folder';
  if (!FOLDER.test(folder)) return 'it is a folder of the project';
  const { version = '' } = entry;
  if (!VERSION.test(version)) return `${JSON.stringify(version)} is not a version`;
  return (
    addressProblem(entry.resolved) ??
    specProblem(entry.name ?? nameOfFolder(folder), version) ??
    integrityProblem(entry.integrity) ??
    dependencyProblem(entry)
  );
}

function addressProblem(resolved: ForeignEntry['resolved']): string | undefined {
  if (typeof resolved !== 'string' || /^https?:\/\//i.test(resolved)) return undefined;
  return `it comes from ${resolved.split(':')[0] ?? ''}:, and only packages from the registry are accepted`;
}

function integrityProblem(integrity: string | undefined): string | undefined {
  if (integrity === undefined || integrity === '')
    return 'the lock has no integrity hash for it. Regenerate the lock (npm install --package-lock-only)';
  if (strongestIntegrity(integrity) !== undefined) return undefined;
  return 'its integrity hash is not SHA-512. Regenerate the lock (npm install --package-lock-only)';
}

function dependencyProblem({
  dependencies = {},
  peerDependencies = {},
  optionalDependencies = {},
}: ForeignEntry): string | undefined {
  for (const [name, spec] of Object.entries({ ...dependencies, ...peerDependencies, ...optionalDependencies })) {
    const problem = specProblem(name, spec);
    if (problem !== undefined) return `it needs ${name}: ${problem}`;
  }
  return undefined;
}

/** The name that the last folder of a path has. */
export const nameOfFolder = (folder: string): string =>
  folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);

import { issueMessage } from '@wherry/core/issue-message.ts';
import { z } from 'zod';
import { specProblem } from './npm-specifier.ts';
import { packageFailure, placeOfKey } from './package-failure.ts';
import type { PackageFailure } from './package-registry.ts';

/** A longer manifest or lock is not read. */
const MAX_TEXT_LENGTH = 16 * 1024 * 1024;

const specs = z.record(z.string(), z.string()).default({});
const manifestSchema = z.object({
  dependencies: specs,
  optionalDependencies: specs,
  peerDependencies: specs,
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean().exactOptional() })).default({}),
  overrides: z.record(z.string(), z.unknown()).default({}),
  workspaces: z.unknown().optional(),
});

/** The parts of a package.json that determine the packages. Development dependencies are not included. */
export type SourceManifest = Omit<z.infer<typeof manifestSchema>, 'workspaces'>;

export const NO_MANIFEST: SourceManifest = {
  dependencies: {},
  optionalDependencies: {},
  peerDependencies: {},
  peerDependenciesMeta: {},
  overrides: {},
};

/**
 * Reads a package.json, and refuses what does not come from the registry (B3), before anything acts on it.
 * @param file `<source>/package.json`, for messages.
 */
export function checkManifest(file: string, text: string): { manifest: SourceManifest } | { failure: PackageFailure } {
  const json = parseJson(file, text);
  if ('failure' in json) return json;
  const parsed = manifestSchema.safeParse(json.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const key = issue?.path.findLast((part) => typeof part === 'string') ?? '';
    return {
      failure: packageFailure(
        'ManifestInvalid',
        `${file}: ${issue?.path.join('.') || 'the file'} ${issueMessage(issue?.message ?? '')}.`,
        placeOfKey(file, text, key),
      ),
    };
  }
  const { workspaces, ...manifest } = parsed.data;
  const overrides = withoutReferences(
    manifest.overrides,
    (json.value as { devDependencies?: unknown }).devDependencies,
  );
  const found = { ...manifest, overrides: overrides as SourceManifest['overrides'] };
  const refused = refusedIn(found, workspaces);
  if (refused === undefined) return { manifest: found };
  return {
    failure: packageFailure('PackageRefused', `${file}: ${refused.text}.`, placeOfKey(file, text, refused.key)),
  };
}

/** The value of a JSON text, which may begin with a byte order mark. */
export function parseJson(file: string, text: string): { value: unknown } | { failure: PackageFailure } {
  if (text.length > MAX_TEXT_LENGTH)
    return { failure: packageFailure('ManifestInvalid', `${file} is longer than ${MAX_TEXT_LENGTH} characters.`) };
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch (error) {
    return {
      failure: packageFailure('ManifestInvalid', `${file} is not JSON: ${(error as Error).message}.`, {
        file,
        line: 1,
        column: 1,
      }),
    };
  }
}

function refusedIn(manifest: SourceManifest, workspaces: unknown): { key: string; text: string } | undefined {
  if (workspaces !== undefined) {
    return {
      key: 'workspaces',
      text: '"workspaces" is not supported. Make each workspace a separate source and import it by a relative path',
    };
  }
  for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies'] as const) {
    for (const [name, spec] of Object.entries(manifest[kind])) {
      const problem = specProblem(name, spec);
      if (problem !== undefined) return { key: name, text: `${name} in ${kind} cannot be used: ${problem}` };
    }
  }
  return refusedOverride(manifest.overrides);
}

function refusedOverride(overrides: Record<string, unknown>, parent = ''): { key: string; text: string } | undefined {
  for (const [key, value] of Object.entries(overrides)) {
    const found = typeof value === 'string' ? overrideProblem(key, value, parent) : nestedProblem(key, value);
    if (found !== undefined) return { key, text: found };
  }
  return undefined;
}

const nestedProblem = (key: string, value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? refusedOverride(value as Record<string, unknown>, key)?.text
    : `${key} in overrides must be a version or an object`;

function overrideProblem(key: string, spec: string, parent: string): string | undefined {
  // `.` is the package that the object around it is about; `$name` is one of the dependencies, each checked itself.
  const name = (key === '.' ? parent : key).replace(/(?<=.)@.*$/s, '');
  const problem = spec.startsWith('$') ? undefined : specProblem(name, spec);
  return problem && `${name} in overrides cannot be used: ${problem}`;
}

/** `$name` may refer to a development dependency, which is not installed: its range is used instead. */
function withoutReferences(value: unknown, development: unknown): unknown {
  if (typeof value === 'string') {
    const spec: unknown = value.startsWith('$')
      ? (development as Record<string, unknown> | undefined)?.[value.slice(1)]
      : undefined;
    return typeof spec === 'string' ? spec : value;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutReferences(inner, development)]));
}

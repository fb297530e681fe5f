import npa from 'npm-package-arg';

export interface NpmSpecifier {
  name: string;
  /** A version, range or tag as written; empty when the specifier has none. */
  range: string;
  /** What comes after the package, without the slash; empty for its main entry. */
  subpath: string;
  /** `name@range`, or the name alone: the key of `PackageLayout.folders`. */
  spec: string;
}

/** `npm:`, then perhaps one slash (as Deno writes it), the name with its scope, the version, the subpath. */
const PATTERN = /^npm:\/?((?:@[^/@]+\/)?[^/@]+)(?:@([^/]*))?(?:\/(.*))?$/s;

/** Reads `npm:<name>[@<version, range or tag>][/<subpath>]`. */
export function npmSpecifier(specifier: string): NpmSpecifier | { problem: string } {
  const [, name, version = '', rest = ''] = PATTERN.exec(specifier) ?? [];
  if (name === undefined) return { problem: `${specifier} names no package: write npm:<name>@<version>` };
  // An address instead of a version has slashes of its own.
  const [range, subpath] = version.endsWith(':') ? [`${version}/${rest}`, ''] : [decoded(version).trim(), rest];
  const problem = specProblem(name, range);
  if (problem !== undefined) return { problem: `${specifier} cannot be used: ${problem}` };
  return { name, range, subpath, spec: range === '' ? name : `${name}@${range}` };
}

/**
 * Why a dependency cannot come from a registry, or undefined when it can (B3).
 * @param spec as in a manifest: a range, version, tag, or `npm:other@range`.
 */
export function specProblem(name: string, spec: string): string | undefined {
  try {
    const parsed = npa.resolve(name, spec, '/');
    if (parsed.registry) return undefined;
    return `${JSON.stringify(spec)} is ${KINDS[parsed.type] ?? 'not a version'}, and only packages from the registry are accepted`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EUNSUPPORTEDPROTOCOL') return (error as Error).message;
    return `${JSON.stringify(spec)} uses a protocol that only other package managers support, and only packages from the registry are accepted`;
  }
}

const KINDS: Record<string, string> = {
  git: 'a git repository',
  remote: 'a URL',
  file: 'a file',
  directory: 'a folder',
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

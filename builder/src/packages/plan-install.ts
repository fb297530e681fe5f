import pickManifest from 'npm-pick-manifest';
import { sha256 } from '@wherry/core/trees/tree.ts';
import type { LockEntry } from './check-lock.ts';
import type { SourceManifest } from './check-manifest.ts';
import { npmSpecifier, type NpmSpecifier } from './npm-specifier.ts';

/** The root that packages are resolved for. */
export type RootManifest = Partial<SourceManifest>;

export interface InstallPlan {
  /** What package.json alone requires; and that with what `npm:` specifiers require. */
  own: RootManifest;
  root: RootManifest;
  /** Top-level folder by what was required: see `PackageLayout`. */
  folders: Record<string, string>;
}

/**
 * Turns `npm:` specifiers into dependencies. A package that is required in one way lies in the folder of its name; of
 * several ways, the manifest's own or else the first has that folder, and the others get folders with generated names.
 * A specifier without a version takes whichever is there. What the author's lock has in a folder stays there.
 */
export function planInstall(
  manifest: SourceManifest,
  specifiers: readonly NpmSpecifier[],
  lock: Record<string, LockEntry> = {},
): InstallPlan {
  const distinct = [...new Map(specifiers.map((one) => [one.spec, one])).values()].sort((a, b) =>
    a.spec < b.spec ? -1 : 1,
  );
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  const taken = new Map(Object.entries({ ...peerDependencies, ...dependencies, ...optionalDependencies }));
  const added: [string, string][] = [];
  const folders: [string, string][] = [];
  const add = (folder: string, spec: string): void => {
    taken.set(folder, spec);
    added.push([folder, spec]);
  };
  // Those without a version come last: by then it is known whether anything else requires it.
  for (const { name, range, spec: key } of [
    ...distinct.filter(({ range }) => range !== ''),
    ...distinct.filter(({ range }) => range === ''),
  ]) {
    const there = taken.get(name);
    const isFree = there === undefined && fits(lock[`node_modules/${name}`], name, range);
    const folder = isFree || range === '' || there === range ? name : aliasFolder(name, key);
    folders.push([key, folder]);
    if (isFree) add(name, range || '*');
    else if (folder !== name) add(folder, `npm:${name}@${range}`);
  }
  const root = { ...manifest, dependencies: { ...dependencies, ...Object.fromEntries(added) } };
  return { own: withoutEmpty(manifest), root: withoutEmpty(root), folders: Object.fromEntries(folders) };
}

/** What a list of specifiers requires; unreadable ones are left out. */
export const readSpecifiers = (specifiers: readonly { specifier: string }[]): NpmSpecifier[] =>
  specifiers.flatMap(({ specifier }) => {
    const read = npmSpecifier(specifier);
    return 'problem' in read ? [] : [read];
  });

/** Whether what the author's lock has in the folder, if anything, is what is required. */
function fits(locked: LockEntry | undefined, name: string, range: string): boolean {
  if (locked === undefined) return true;
  const { name: lockedName = name, version = '' } = locked;
  if (lockedName !== name) return false;
  try {
    pickManifest({ name, versions: { [version]: { name, version } } }, range, {});
    return true;
  } catch {
    return false;
  }
}

const aliasFolder = (name: string, spec: string): string =>
  `${name.replace(/^@/, '').replace('/', '.').toLowerCase()}-${sha256(spec).slice(0, 12)}`;

const withoutEmpty = (manifest: SourceManifest): RootManifest =>
  Object.fromEntries(Object.entries(manifest).filter(([, value]) => Object.keys(value).length > 0));

import { z } from 'zod';
import type { PackageLayout } from './package-registry.ts';
import type { InstallPlan, RootManifest } from './plan-install.ts';
import { nameOfFolder, type LockEntry } from './check-lock.ts';

/** Our lock: a package-lock.json of version 3 without addresses, and where each `npm:` specifier finds its package. */
const lockSchema = z.object({
  lockfileVersion: z.literal(3),
  wherry: z.object({ version: z.literal(1), folders: z.record(z.string(), z.string()) }),
  packages: z.record(
    z.string(),
    z.looseObject({
      name: z.string().optional(),
      version: z.string().optional(),
      integrity: z.string().optional(),
      optional: z.boolean().optional(),
    }),
  ),
});

/** The same resolution gives the same text, whatever the order of its parts. */
export function canonicalLock(plan: InstallPlan, packages: Record<string, LockEntry>): string {
  const lock = {
    lockfileVersion: 3,
    wherry: { version: 1, folders: plan.folders },
    packages: { '': plan.root satisfies RootManifest, ...packages },
  };
  return `${JSON.stringify(sorted(lock), undefined, 1)}\n`;
}

/** The packages of an earlier lock; none when it is not one that this version wrote. */
export function packagesOf(lock: string): Record<string, LockEntry> {
  try {
    const { '': _root, ...packages } = lockSchema.parse(JSON.parse(lock)).packages;
    return packages as Record<string, LockEntry>;
  } catch {
    return {};
  }
}

/** @throws SyntaxError when the text is not a lock of ours. */
export function layoutOf(lock: string): PackageLayout {
  const parsed = lockSchema.safeParse(JSON.parse(lock));
  if (!parsed.success) throw new SyntaxError('the text is not a lock that this service made');
  const { packages, wherry } = parsed.data;
  const layout: PackageLayout = { packages: {}, folders: {} };
  for (const [folder, { name, version = '', integrity = '', optional }] of Object.entries(packages)) {
    if (folder !== '')
      layout.packages[folder] = {
        name: name ?? nameOfFolder(folder),
        version,
        integrity,
        ...(optional === true && { optional }),
      };
  }
  for (const [spec, folder] of Object.entries(wherry.folders)) layout.folders[spec] = folderOf(folder, layout.packages);
  return layout;
}

/**
 * Two ranges that resolved to one version share a folder, so that the package exists once, unless each has packages of
 * its own below.
 */
function folderOf(folder: string, packages: PackageLayout['packages']): string {
  const found = packages[`node_modules/${folder}`];
  if (found === undefined || found.name === folder) return folder;
  const same = packages[`node_modules/${found.name}`]?.integrity === found.integrity;
  const nested = Object.keys(packages).some(
    (path) => path.startsWith(`node_modules/${folder}/`) || path.startsWith(`node_modules/${found.name}/`),
  );
  return same && !nested ? found.name : folder;
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sorted(inner)]));
}

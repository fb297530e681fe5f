import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { checkLock, type LockEntry } from './check-lock.ts';
import { checkManifest, NO_MANIFEST } from './check-manifest.ts';
import { npmSpecifier } from './npm-specifier.ts';
import { packageFailure } from './package-failure.ts';
import type { PackageFailure, ResolveRequest } from './package-registry.ts';
import { planInstall, readSpecifiers, type InstallPlan } from './plan-install.ts';

/** Increases when the same requirements must be resolved again, because what a lock holds has changed. */
const VERSION = 1;

/** What a source requires, checked (B3) before anything acts on it. */
export function readRequirements(
  request: ResolveRequest,
): { plan: InstallPlan; lock?: Record<string, LockEntry> } | { failure: PackageFailure } {
  const { source, specifiers, lockFile = 'package-lock.json' } = request;
  const manifest =
    request.manifest === undefined
      ? { manifest: NO_MANIFEST }
      : checkManifest(`${source}/package.json`, request.manifest);
  if ('failure' in manifest) return manifest;
  // A lock means nothing without the manifest that it belongs to.
  const lock =
    request.lock === undefined || request.manifest === undefined
      ? { packages: undefined }
      : checkLock(`${source}/${lockFile}`, request.lock);
  if ('failure' in lock) return lock;
  for (const { specifier, file, line, column } of specifiers) {
    const read = npmSpecifier(specifier);
    if ('problem' in read)
      return { failure: packageFailure('PackageRefused', `${file}: ${read.problem}.`, { file, line, column }) };
  }
  const plan = planInstall(manifest.manifest, readSpecifiers(specifiers), lock.packages);
  return lock.packages === undefined ? { plan } : { plan, lock: lock.packages };
}

/**
 * The location of an import does not count, nor do irrelevant parts of package.json, such as its scripts and its
 * version.
 */
export function requirementsDigest(request: ResolveRequest): Digest {
  const { source, manifest, lock, specifiers } = request;
  const checked = manifest === undefined ? undefined : checkManifest(`${source}/package.json`, manifest);
  const required = specifiers.map((one) => readSpecifiers([one])[0]?.spec ?? one.specifier);
  const parts = [
    VERSION,
    checked && 'manifest' in checked ? checked.manifest : (manifest ?? null),
    lock === undefined ? null : sha256(lock),
    [...new Set(required)].sort(),
  ];
  return sha256(JSON.stringify(parts));
}

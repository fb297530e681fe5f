import type { Spec } from 'npm-package-arg';
import pickManifest from 'npm-pick-manifest';
import { z } from 'zod';
import { strongestIntegrity } from '../../blob-exchange/integrity.ts';
import { specProblem } from '../npm-specifier.ts';
import { InstallError } from './protocol.ts';
import type { Packument, RegistryClient } from './registry-client.ts';

/** The manifest of the version that a spec chooses. @throws InstallError. */
export type Manifests = (spec: Spec) => Promise<object>;

/** Values of a wrong type count as absent, as in npm: old packages contain all kinds of things. */
const specs = z
  .record(z.string(), z.unknown())
  .transform((all) =>
    Object.fromEntries(Object.entries(all).filter((one): one is [string, string] => typeof one[1] === 'string')),
  )
  .catch({});
const texts = z
  .union([z.array(z.string()), z.string()])
  .optional()
  .catch(undefined);
const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  dependencies: specs,
  optionalDependencies: specs,
  peerDependencies: specs,
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean().optional() })).catch({}),
  bundleDependencies: z
    .union([z.array(z.string()), z.boolean()])
    .optional()
    .catch(undefined),
  bundledDependencies: z
    .union([z.array(z.string()), z.boolean()])
    .optional()
    .catch(undefined),
  os: texts,
  cpu: texts,
  libc: texts,
  dist: z.object({ integrity: z.string().optional() }).catch({}),
});
type Manifest = z.infer<typeof manifestSchema>;

/**
 * The manifests of one resolution: each package is requested once, and whatever is not from the registry is refused
 * before it is followed (B3). The first sign that the registry is not available ends the resolution: waiting for each
 * package would take minutes. So do too many packages, before there is a tree of them.
 */
export function manifestsOf(
  client: RegistryClient,
  { candidates }: { candidates: number },
  signal: AbortSignal,
): { manifests: Manifests; stopped: () => InstallError | undefined } {
  const packuments = new Map<string, Promise<Packument>>();
  const seen = new Set<string>();
  let stopped: InstallError | undefined;

  async function packument(name: string): Promise<Packument> {
    try {
      return await client.packument(name, signal);
    } catch (error) {
      if (error instanceof InstallError && error.failure.reason === 'RegistryUnavailable') stopped ??= error;
      throw error;
    }
  }

  /** What Arborist would make a node of, and an edge for each dependency. */
  function count(manifest: Manifest): Manifest {
    const { name, version, dependencies, optionalDependencies, peerDependencies } = manifest;
    const id = `${name}@${version}`;
    const required = Object.keys({ ...peerDependencies, ...dependencies, ...optionalDependencies }).length;
    seen.add(id);
    if (required > candidates) stopped ??= tooMany(`${id} needs ${required} packages`, candidates, [name]);
    if (seen.size > candidates) stopped ??= tooMany(`The source needs more than ${candidates} packages`, candidates);
    if (stopped !== undefined) throw stopped;
    return manifest;
  }

  return {
    stopped: () => stopped,
    manifests: async (spec) => {
      signal.throwIfAborted();
      if (stopped !== undefined) throw stopped;
      const { name, fetchSpec, registry } = spec.subSpec ?? spec;
      if (registry !== true || name === null)
        throw new InstallError(
          'PackageRefused',
          `${spec.raw} cannot be used: only packages from the registry are accepted.`,
          [],
        );
      const pending = packuments.get(name) ?? packument(name);
      packuments.set(name, pending);
      return checked(count(pick(await pending, fetchSpec ?? '')));
    },
  };
}

const tooMany = (what: string, limit: number, packages: string[] = []): InstallError =>
  new InstallError(
    'PackageTooLarge',
    `${what} (including those for other platforms), but at most ${limit} are allowed. Depend on fewer.`,
    packages,
  );

function pick(packument: Packument, range: string): Manifest {
  try {
    return manifestSchema.parse(pickManifest(packument, range, { nodeVersion: process.version }));
  } catch {
    const latest = packument['dist-tags']?.['latest'];
    const hint = latest === undefined ? '' : ` The latest is ${latest}.`;
    throw new InstallError(
      'PackageNotFound',
      `The registry has no version of ${packument.name} that satisfies ${JSON.stringify(range)}.${hint}`,
      [packument.name],
    );
  }
}

function checked({
  dist,
  bundledDependencies,
  bundleDependencies = bundledDependencies,
  ...manifest
}: Manifest): object {
  const { name, version, dependencies, optionalDependencies, peerDependencies } = manifest;
  const id = `${name}@${version}`;
  const integrity = strongestIntegrity(dist.integrity ?? '');
  if (integrity === undefined)
    throw new InstallError(
      'PackageRefused',
      `${id} cannot be used: the registry has no SHA-512 integrity hash for it.`,
      [name],
    );
  const bundled = bundleDependencies === true ? Object.keys(dependencies) : bundleDependencies || [];
  refuseForeign(manifest, bundled);
  return {
    ...manifest,
    // Optional dependencies are in both, as registries write them.
    dependencies: Object.fromEntries(
      Object.entries(dependencies).filter(([other]) => !Object.hasOwn(optionalDependencies, other)),
    ),
    optionalDependencies: fromRegistry(optionalDependencies),
    peerDependencies: fromRegistry(peerDependencies),
    ...(bundled.length > 0 && { bundleDependencies: bundled }),
    _id: id,
    _integrity: integrity,
    _resolved: placeholder(name, version),
  };
}

/** Required dependencies must come from the registry; optional ones that do not are left out. */
function refuseForeign(
  { name, version, dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }: Omit<Manifest, 'dist'>,
  bundled: string[],
): void {
  for (const [other, spec] of Object.entries({ ...peerDependencies, ...dependencies })) {
    const dispensable =
      bundled.includes(other) ||
      Object.hasOwn(optionalDependencies, other) ||
      peerDependenciesMeta[other]?.optional === true;
    const problem = dispensable ? undefined : specProblem(other, spec);
    if (problem !== undefined)
      throw new InstallError(
        'PackageRefused',
        `${name}@${version} cannot be used: it needs ${other}, and ${problem}.`,
        [name],
      );
  }
}

const fromRegistry = (specs: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(specs).filter(([name, spec]) => specProblem(name, spec) === undefined));

/** Arborist requires an address. It is never requested: the registry names the real one when a tarball is fetched. */
export const placeholder = (name: string, version: string): string =>
  `https://registry.invalid/${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`;

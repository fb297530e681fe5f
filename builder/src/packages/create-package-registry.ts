import path from 'node:path';
import defaults from 'npm-registry-fetch/lib/default-opts.js';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { SourceLocation } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { BuildIdentity } from '../build-identity.ts';
import { requirementsDigest, readRequirements } from './requirements.ts';
import { countProblem } from './count-problem.ts';
import { canonicalLock, layoutOf, packagesOf } from './canonical-lock.ts';
import { connectInstaller } from './npm/connect-installer.ts';
import { startConfiguredChild } from './npm/install-child.ts';
import { createInstaller, type Installer } from './npm/installer.ts';
import { packageFailure, placeOfKey } from './package-failure.ts';
import {
  PackageError,
  type PackageRegistry,
  type RegistryOptions,
  type ResolveRequest,
  type ResolveResult,
} from './package-registry.ts';
import { readSpecifiers } from './plan-install.ts';
import { createTarballCache } from './tarball-cache.ts';
import { createTarballs } from './tarballs.ts';

const MIB = 1024 * 1024;

interface PackageLimits {
  /** A resolution, and the fetching of one tarball. */
  timeoutMs: number;
  /** How many packages one source may have, including transitive ones. */
  packages: number;
  /** How many packages a resolution may consider: those for other platforms, which are left out, are included. */
  candidates: number;
  /** Of one tarball, packed. */
  tarballBytes: number;
  /** Of what the registry says about one package: all its versions. */
  metadataBytes: number;
  /** A connection to the registry that is silent for this long has failed. */
  silenceMs: number;
  /** Memory of the process that talks to the registry. */
  heapMiB: number;
  /** Of all tarballs that are kept. */
  cacheBytes: number;
}

export const PACKAGE_LIMITS: PackageLimits = {
  timeoutMs: 60_000,
  packages: 1000,
  candidates: 4000,
  tarballBytes: 64 * MIB,
  metadataBytes: 64 * MIB,
  silenceMs: 20_000,
  heapMiB: 512,
  cacheBytes: 1024 * MIB,
};

/** Without a URL, it is the default registry of npm's client. */
export type RegistrySettings = Omit<RegistryOptions, 'url'> & { url?: string | undefined };

export interface PackageRegistryOptions {
  /** Where tarballs are kept; several services may share it. Nothing but tarballs is in its folder `tarballs`. */
  cacheDirectory: string;
  /** The registry, which a process of this one talks to; or the Unix socket of an installer that has its token. */
  registry: RegistrySettings | { socket: string };
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  limits?: Partial<PackageLimits>;
  /** The user that talks to the registry, which no build has: only root can give one. */
  identity?: BuildIdentity;
}

/** The only thing that talks to a registry: a process of its own, with the token (B1). */
export function createRegistryInstaller(options: {
  registry: RegistrySettings;
  limits?: Partial<PackageLimits>;
  identity?: BuildIdentity;
  clock: Clock;
  logger: Logger;
}): Installer {
  const limits = { ...PACKAGE_LIMITS, ...options.limits };
  const registry = { ...options.registry, url: options.registry.url ?? defaults.registry };
  return createInstaller({
    ...options,
    timeoutMs: limits.timeoutMs,
    retriesAlone: true,
    start: () => startConfiguredChild({ ...options, registry, limits }),
  });
}

function installerOf(options: PackageRegistryOptions, timeoutMs: number): Installer {
  const { registry, ...rest } = options;
  if (!('socket' in registry)) return createRegistryInstaller({ ...rest, registry });
  return createInstaller({
    ...rest,
    timeoutMs,
    // The program at the other end does it, and the connection may end for other reasons.
    retriesAlone: false,
    start: (signal) => connectInstaller({ ...rest, path: registry.socket }, signal),
  });
}

/**
 * Packages from one registry, kept as tarballs. A process of its own talks to the registry and builds the tree (B3).
 */
export function createPackageRegistry(options: PackageRegistryOptions): PackageRegistry & { stop(): Promise<void> } {
  const { clock, logger, metrics } = options;
  const limits = { ...PACKAGE_LIMITS, ...options.limits };
  const installer = installerOf(options, limits.timeoutMs);
  const cache = createTarballCache({
    directory: path.join(options.cacheDirectory, 'tarballs'),
    maxBytes: limits.cacheBytes,
    clock,
    logger,
  });
  const tarballs = createTarballs({ cache, installer, metrics });
  const resolutions = metrics.counter(METRICS.npmResolutions);
  const stopping = new AbortController();

  async function resolve(request: ResolveRequest, signal: AbortSignal): Promise<ResolveResult> {
    signal.throwIfAborted();
    const requirements = readRequirements(request);
    if ('failure' in requirements) return { ok: false, ...requirements.failure };
    const { plan, lock } = requirements;
    const tooMany = countProblem(requirements, limits);
    if (tooMany !== undefined)
      return { ok: false, ...placed(packageFailure('PackageTooLarge', tooMany, placeOf([], request))) };
    const base = request.base === undefined ? {} : packagesOf(request.base);
    const answer = await installer.request(
      { type: 'resolve', own: plan.own, root: plan.root, ...(lock && { lock }), base },
      AbortSignal.any([signal, stopping.signal]),
    );
    if ('packages' in answer)
      return { ok: true, lock: canonicalLock(plan, answer.packages), requirementsDigest: requirementsDigest(request) };
    const { reason, message, packages } = 'failure' in answer ? answer.failure : NONSENSE;
    return { ok: false, ...placed(packageFailure(reason, message, placeOf(packages, request))) };
  }

  return {
    requirementsDigest,
    layout: layoutOf,
    async resolve(request, signal) {
      const result = await resolve(request, signal);
      resolutions.inc({ outcome: result.ok ? 'Resolved' : result.reason });
      return result;
    },
    async tarball(integrity, lock, signal) {
      signal.throwIfAborted();
      const wanted = Object.values(layoutOf(lock).packages).find((one) => one.integrity === integrity);
      if (wanted === undefined)
        throw new PackageError(packageFailure('PackageRefused', 'The lock has no tarball with this integrity hash.'));
      return tarballs.get(wanted, signal);
    },
    async stop() {
      stopping.abort(new Error('the package registry is stopping'));
      await installer.stop();
      await tarballs.stop();
    },
  };
}

const NONSENSE = {
  reason: 'InstallFailed',
  message: 'The install process returned a result of the wrong kind.',
  packages: [] as string[],
} as const;

/** The import or the line of the manifest that the failure goes back to, as near as can be known. */
function placeOf(
  packages: readonly string[],
  { source, manifest, specifiers }: ResolveRequest,
): SourceLocation | undefined {
  const imports = new Map(
    specifiers.flatMap((one) => readSpecifiers([one]).map(({ name }) => [name, one] as const)).reverse(),
  );
  const file = `${source}/package.json`;
  for (const name of packages) {
    const found = imports.get(name);
    if (found !== undefined) return { file: found.file, line: found.line, column: found.column };
    if (manifest?.includes(JSON.stringify(name)) === true) return placeOfKey(file, manifest, name);
  }
  if (manifest !== undefined) return { file, line: 1, column: 1 };
  const [first] = specifiers;
  return first && { file: first.file, line: first.line, column: first.column };
}

/** The message contains the file too, for readers who see nothing else. */
const placed = <T extends { message: string; location?: SourceLocation }>(failure: T): T =>
  failure.location === undefined ? failure : { ...failure, message: `${failure.location.file}: ${failure.message}` };

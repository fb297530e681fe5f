import { isDomainError } from '@wherry/core/errors.ts';
import type { BuildInput, BuildRequest, UsedLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { TreeManifest } from '@wherry/core/trees/tree.ts';
import type {
  RequiredSpecifier,
  PackageFailure,
  PackageLayout,
  PackageRegistry,
  ResolveRequest,
} from './package-registry.ts';

interface ResolutionContext {
  content: ContentStore;
  packages: PackageRegistry;
}

/** What a build's packages were resolved to. */
interface ResolvedPackages {
  /** By source. */
  locks: Map<string, UsedLock>;
  layouts: Record<string, PackageLayout>;
  /** The files that decided it. */
  inputs: BuildInput[];
}

const LOCK_FILES = ['npm-shrinkwrap.json', 'package-lock.json'] as const;

/**
 * Resolves the packages of each source that requires some: by the lock that answered the same before, else by a request
 * to the registry.
 * @param requirements by source, the `npm:` specifiers that the handler reaches.
 * @throws the error of the content store or the signal.
 */
export async function resolvePackages(
  requirements: Record<string, RequiredSpecifier[]>,
  request: BuildRequest,
  context: ResolutionContext,
  signal: AbortSignal,
): Promise<ResolvedPackages | { failure: PackageFailure; inputs: BuildInput[] }> {
  const resolved: ResolvedPackages = { locks: new Map(), layouts: {}, inputs: [] };
  // One after the other: of two failures always the same one is reported, and few builds have packages of two sources.
  for (const [source, specifiers] of Object.entries(requirements)) {
    const { resolveRequest, inputs } = await gather(source, specifiers, request.trees.get(source), context.content);
    resolved.inputs.push(...inputs);
    const lock = await lockFor(resolveRequest, request, context, signal);
    if ('failure' in lock) return { failure: lock.failure, inputs: resolved.inputs };
    resolved.locks.set(source, { asks: lock.asks, lock: lock.lock });
    resolved.layouts[source] = lock.layout;
  }
  return resolved;
}

async function gather(
  source: string,
  specifiers: RequiredSpecifier[],
  tree: TreeManifest | undefined,
  content: ContentStore,
): Promise<{ resolveRequest: ResolveRequest; inputs: BuildInput[] }> {
  const inputs: BuildInput[] = [];
  const textOf = async (path: string): Promise<string | undefined> => {
    const entry = tree?.files.find((file) => file.path === path);
    if (entry === undefined) return undefined;
    inputs.push({ source, path, digest: entry.digest });
    return (await content.get(entry.digest)).toString('utf8');
  };
  const manifest = await textOf('package.json');
  const resolveRequest: ResolveRequest = { source, specifiers, ...(manifest !== undefined && { manifest }) };
  for (const lockFile of manifest === undefined ? [] : LOCK_FILES) {
    const lock = await textOf(lockFile);
    if (lock !== undefined) return { resolveRequest: { ...resolveRequest, lock, lockFile }, inputs };
  }
  return { resolveRequest, inputs };
}

async function lockFor(
  resolveRequest: ResolveRequest,
  { locks }: BuildRequest,
  context: ResolutionContext,
  signal: AbortSignal,
): Promise<(UsedLock & { layout: PackageLayout }) | { failure: PackageFailure }> {
  const { packages } = context;
  const requirementsDigest = packages.requirementsDigest(resolveRequest);
  const known = locks?.get(resolveRequest.source) ?? [];
  const same = await readLock(known.find((one) => one.asks === requirementsDigest)?.lock, context);
  if (same !== undefined) return { asks: requirementsDigest, ...same };
  // What was resolved before stays where it still fits.
  const base = await readLock(known[0]?.lock, context);
  const resolved = await packages.resolve({ ...resolveRequest, ...(base && { base: base.lock }) }, signal);
  if (!resolved.ok) return { failure: resolved };
  return { asks: resolved.requirementsDigest, lock: resolved.lock, layout: packages.layout(resolved.lock) };
}

/** Undefined for a lock that is no longer stored, or that this version cannot read: it is resolved again. */
async function readLock(
  digest: Digest | undefined,
  { content, packages }: ResolutionContext,
): Promise<{ lock: string; layout: PackageLayout } | undefined> {
  if (digest === undefined) return undefined;
  try {
    const lock = (await content.get(digest)).toString('utf8');
    return { lock, layout: packages.layout(lock) };
  } catch (error) {
    if (isDomainError(error, 'not_found') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

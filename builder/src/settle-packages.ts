import { isDomainError } from '@wherry/core/errors.ts';
import type { BuildInput, BuildRequest, UsedLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { TreeManifest } from '@wherry/core/trees/tree.ts';
import type {
  AskedSpecifier,
  PackageFailure,
  PackageLayout,
  PackageRoom,
  ResolveRequest,
} from './packages/package-room.ts';

export interface PackageRooms {
  content: ContentStore;
  packages: PackageRoom;
}

/** What a build's packages were settled on. */
export interface SettledPackages {
  /** By source. */
  locks: Map<string, UsedLock>;
  layouts: Record<string, PackageLayout>;
  /** The files that decided it. */
  inputs: BuildInput[];
}

const LOCK_FILES = ['npm-shrinkwrap.json', 'package-lock.json'] as const;

/**
 * Settles on the packages of each source that asks for some: by the lock that answered the same before, else by asking
 * the registry.
 * @param asks by source, the `npm:` specifiers that the handler reaches.
 * @throws what the content store or the signal says.
 */
export async function settlePackages(
  asks: Record<string, AskedSpecifier[]>,
  request: BuildRequest,
  rooms: PackageRooms,
  signal: AbortSignal,
): Promise<SettledPackages | { failure: PackageFailure; inputs: BuildInput[] }> {
  const settled: SettledPackages = { locks: new Map(), layouts: {}, inputs: [] };
  // One after the other: of two failures always the same one is told, and few builds ask for two sources.
  for (const [source, specifiers] of Object.entries(asks)) {
    const { asked, inputs } = await gather(source, specifiers, request.trees.get(source), rooms.content);
    settled.inputs.push(...inputs);
    const lock = await lockFor(asked, request, rooms, signal);
    if ('failure' in lock) return { failure: lock.failure, inputs: settled.inputs };
    settled.locks.set(source, { asks: lock.asks, lock: lock.lock });
    settled.layouts[source] = lock.layout;
  }
  return settled;
}

async function gather(
  source: string,
  specifiers: AskedSpecifier[],
  tree: TreeManifest | undefined,
  content: ContentStore,
): Promise<{ asked: ResolveRequest; inputs: BuildInput[] }> {
  const inputs: BuildInput[] = [];
  const textOf = async (path: string): Promise<string | undefined> => {
    const entry = tree?.files.find((file) => file.path === path);
    if (entry === undefined) return undefined;
    inputs.push({ source, path, digest: entry.digest });
    return (await content.get(entry.digest)).toString('utf8');
  };
  const manifest = await textOf('package.json');
  const asked: ResolveRequest = { source, specifiers, ...(manifest !== undefined && { manifest }) };
  for (const lockFile of manifest === undefined ? [] : LOCK_FILES) {
    const lock = await textOf(lockFile);
    if (lock !== undefined) return { asked: { ...asked, lock, lockFile }, inputs };
  }
  return { asked, inputs };
}

async function lockFor(
  asked: ResolveRequest,
  { locks }: BuildRequest,
  rooms: PackageRooms,
  signal: AbortSignal,
): Promise<(UsedLock & { layout: PackageLayout }) | { failure: PackageFailure }> {
  const { packages } = rooms;
  const asks = packages.asks(asked);
  const known = locks?.get(asked.source) ?? [];
  const same = await readLock(known.find((one) => one.asks === asks)?.lock, rooms);
  if (same !== undefined) return { asks, ...same };
  // What was settled on before stays where it still fits.
  const base = await readLock(known[0]?.lock, rooms);
  const resolved = await packages.resolve({ ...asked, ...(base && { base: base.lock }) }, signal);
  if (!resolved.ok) return { failure: resolved };
  return { asks: resolved.asks, lock: resolved.lock, layout: packages.layout(resolved.lock) };
}

/** Undefined for a lock that is not stored any more, or that no version of ours reads: it is made anew. */
async function readLock(
  digest: Digest | undefined,
  { content, packages }: PackageRooms,
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

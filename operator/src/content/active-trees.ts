import { isDomainError } from '@wherry/core/errors.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { displayName } from '@wherry/core/resources/kinds.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import type { Caches } from '../caches/caches.ts';
import { NO_FILES, type LoadedTree, type TreeCache } from './tree-cache.ts';

/** The trees of all sources at one moment, by the sources' names. */
export interface ActiveTrees {
  trees: ReadonlyMap<string, LoadedTree>;
  /** Names the whole of it. */
  digest: Digest;
}

/** Gives the active trees; worked out once after each change of a source. */
export function createActiveTrees(caches: Caches, trees: TreeCache): () => Promise<ActiveTrees> {
  let current: Promise<ActiveTrees> | undefined;
  caches.sources.onChange(() => {
    current = undefined;
  });

  return async () => {
    current ??= gather(caches, trees);
    const mine = current;
    try {
      return await mine;
    } catch (error) {
      if (current === mine) current = undefined;
      throw error;
    }
  };
}

async function gather(caches: Caches, cache: TreeCache): Promise<ActiveTrees> {
  const names = [...new Set(caches.sources.list().map(displayName))].sort();
  const activeTrees = names.map((name) => [name, caches.sourceNamed(name)?.status.tree] as const);
  const trees = new Map<string, LoadedTree>();
  for (const [name, digest] of activeTrees) trees.set(name, await load(cache, digest));
  return { trees, digest: sha256(JSON.stringify([...trees].map(([name, tree]) => [name, tree.digest]))) };
}

/** A tree that is not there is as good as none: whether that matters, the build says. */
async function load(cache: TreeCache, digest: Digest | undefined): Promise<LoadedTree> {
  if (digest === undefined) return NO_FILES;
  try {
    return await cache.load(digest);
  } catch (error) {
    if (isDomainError(error, 'not_found')) return NO_FILES;
    throw error;
  }
}

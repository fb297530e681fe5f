import { createHash } from 'node:crypto';
import { isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { displayName } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { decodeTree, sha256, type TreeManifest } from '@wherry/core/trees/tree.ts';
import type { Caches } from '../informers/caches.ts';

/** How many trees are kept in memory; the least recently used are removed first. */
const KEPT = 256;

/** A tree with the parts of it that are read repeatedly. */
interface LoadedTree {
  digest: Digest;
  manifest: TreeManifest;
  /** Digest of each file, by path. */
  files: ReadonlyMap<string, Digest>;
  /** Digest of the list of all paths. */
  paths: Digest;
  bytes: number;
}

/** Trees of the content store, decoded once. */
export interface TreeCache {
  /** @throws DomainError `not_found` when the store has no such blob; any error when it is not a manifest. */
  load(digest: Digest): Promise<LoadedTree>;
}

export function createTreeCache(content: ContentStore): TreeCache {
  const trees = new Map<Digest, LoadedTree>();

  return {
    async load(digest) {
      const tree = trees.get(digest) ?? loadedTree(decodeTree(await content.get(digest)), digest);
      trees.delete(digest);
      trees.set(digest, tree);
      const oldest = trees.keys().next();
      if (trees.size > KEPT && oldest.done !== true) trees.delete(oldest.value);
      return tree;
    },
  };
}

/** @param digest the tree's name. */
export function loadedTree(manifest: TreeManifest, digest: Digest): LoadedTree {
  const paths = createHash('sha256');
  for (const { path } of manifest.files) paths.update(path).update('\0');
  return {
    digest,
    manifest,
    files: new Map(manifest.files.map((file) => [file.path, file.digest])),
    paths: paths.digest('hex'),
    bytes: manifest.files.reduce((sum, file) => sum + file.size, 0),
  };
}

/** A source that has no files yet. */
const NO_FILES: LoadedTree = loadedTree({ files: [] }, sha256(''));

/** The trees of all sources at one moment, by the sources' names. */
export interface ActiveTrees {
  trees: ReadonlyMap<string, LoadedTree>;
  /** Identifies all of them together. */
  digest: Digest;
}

/** Gives the active trees; computed once after each change of a source. */
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

/** A missing tree is treated as none: the build reports whether that matters. */
async function load(cache: TreeCache, digest: Digest | undefined): Promise<LoadedTree> {
  if (digest === undefined) return NO_FILES;
  try {
    return await cache.load(digest);
  } catch (error) {
    if (isDomainError(error, 'not_found')) return NO_FILES;
    throw error;
  }
}

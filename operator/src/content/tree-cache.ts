import { createHash } from 'node:crypto';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { decodeTree, sha256, type TreeManifest } from '@wherry/core/trees/tree.ts';

/** How many trees are kept in memory; the least lately used go first. */
const KEPT = 256;

/** A tree with what is read of it again and again. */
export interface LoadedTree {
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
  /** @throws DomainError `not_found` when the store has no such blob; any error when it is no manifest. */
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
export const NO_FILES: LoadedTree = loadedTree({ files: [] }, sha256(''));

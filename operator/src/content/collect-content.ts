import { isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import type { CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { Caches } from '../informers/caches.ts';
import type { TreeCache } from './trees.ts';

/** Blobs that were put within this time stay: their references may not be written yet. */
const GRACE_MS = 3_600_000;

interface CollectorDependencies {
  caches: Caches;
  content: ContentStore;
  trees: TreeCache;
  /** Artifacts of successful builds. */
  artifacts: readonly Digest[];
  workloads: Workloads;
}

/**
 * Removes blobs that nothing refers to: no source's tree, file or lock, no function's revision, nothing that runs.
 * @returns how many were removed.
 * @throws when it cannot be determined what is referred to; then nothing is removed.
 */
export async function collectContent(dependencies: CollectorDependencies): Promise<number> {
  const { caches, content, artifacts, workloads } = dependencies;
  const referenced = new Set<Digest>([...artifacts, ...workloads.list().map(({ revision }) => revision)]);
  for (const { spec, status } of caches.functions.list()) {
    const revisions = [
      spec.revision,
      status.activeRevision,
      ...(status.revisions ?? []).map(({ revision }) => revision),
    ];
    for (const revision of revisions) if (revision !== undefined) referenced.add(revision);
  }
  for (const source of caches.sources.list()) await addSource(dependencies.trees, source, referenced);
  return content.collect(referenced, GRACE_MS);
}

async function addSource(
  trees: TreeCache,
  { spec, status }: CodeSourceResource,
  referenced: Set<Digest>,
): Promise<void> {
  for (const { lock } of status.locks ?? []) referenced.add(lock);
  for (const tree of [spec.manual?.tree, status.tree]) if (tree !== undefined) await addTree(trees, tree, referenced);
}

async function addTree(trees: TreeCache, digest: Digest, referenced: Set<Digest>): Promise<void> {
  if (referenced.has(digest)) return;
  referenced.add(digest);
  try {
    const { files } = await trees.load(digest);
    for (const file of files.values()) referenced.add(file);
  } catch (error) {
    // A missing tree refers to nothing. With any other error, the references are unknown.
    if (!isDomainError(error, 'not_found')) throw error;
  }
}

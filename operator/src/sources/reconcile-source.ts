import { confidentialValues } from '@wherry/core/confidential/confidential-fields.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { findCondition } from '@wherry/core/resources/conditions.ts';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { displayName, type CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../informers/caches.ts';
import type { TreeCache } from '../content/trees.ts';
import { DONE, requeueAfter, stalled, type Outcome } from '../controller/outcome.ts';
import type { Problem } from '../controller/ready-conditions.ts';
import { writeStatus } from '../controller/write-status.ts';
import type { Undecryptable } from '../secrets/undecryptable.ts';
import { decideSource, type NamedTree } from './decide-source.ts';

/** How soon to check again for a missing tree. */
const LOOK_AGAIN_MS = 10_000;

interface SourceDependencies {
  store: ResourceStore;
  caches: Caches;
  trees: TreeCache;
  reader: ConfidentialReader;
  undecryptable: Undecryptable;
  clock: Clock;
}

/** Makes the tree that a manual source names active, once it is in the content store. */
export async function reconcileSource(dependencies: SourceDependencies, name: string): Promise<Outcome> {
  const { caches, undecryptable, clock } = dependencies;
  const source = caches.sources.get(name);
  const unread = source && unreadValue(dependencies.reader, source);
  undecryptable.set('CodeSource', name, unread !== undefined);
  if (source === undefined) return DONE;
  const named = await gatherTree(dependencies.trees, source);
  const holder = caches.sourceNamed(displayName(source))?.metadata.name;
  const status = decideSource(source, { named, holder, unread, now: clock.now() });
  await writeStatus(dependencies.store, source, status);
  if (named.state === 'missing') return requeueAfter(LOOK_AGAIN_MS);
  const ready = findCondition(status.conditions, 'Ready');
  return ready?.status === 'True' ? DONE : stalled(ready?.reason ?? '');
}

/** The credentials of a source may be unreadable while its files are fine. */
function unreadValue(reader: ConfidentialReader, source: CodeSourceResource): Problem | undefined {
  return confidentialValues(source)
    .map(({ field }) => reader.read(source, field).problem)
    .find((problem) => problem?.reason === 'DecryptionFailed');
}

async function gatherTree(trees: TreeCache, source: CodeSourceResource): Promise<NamedTree> {
  const digest = source.spec.type === 'manual' ? source.spec.manual?.tree : undefined;
  if (digest === undefined) return { state: 'none' };
  try {
    const { manifest, bytes } = await trees.load(digest);
    return { state: 'stored', digest, files: manifest.files.length, bytes };
  } catch (error) {
    if (isDomainError(error, 'not_found')) return { state: 'missing', digest };
    // An unavailable store is retried; bytes that are not a manifest never become one.
    if (isDomainError(error)) throw error;
    return { state: 'invalid', digest };
  }
}

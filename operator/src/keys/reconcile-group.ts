import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Caches } from '../informers/caches.ts';
import { DONE, type Outcome } from '../controller/outcome.ts';
import { readyConditions } from '../controller/ready-conditions.ts';
import { writeStatus } from '../controller/write-status.ts';

/** Counts the keys of a group. Nothing can keep a group from being Ready. */
export async function reconcileGroup(
  { store, caches, clock }: { store: ResourceStore; caches: Caches; clock: Clock },
  name: string,
): Promise<Outcome> {
  const group = caches.groups.get(name);
  if (group === undefined) return DONE;
  const keys = caches.keysByGroup.names(name).size;
  const conditions = readyConditions(group, undefined, clock.now());
  await writeStatus(store, group, { ...group.status, observedGeneration: group.metadata.generation, conditions, keys });
  return DONE;
}

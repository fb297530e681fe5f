import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Caches } from '../caches/caches.ts';
import { DONE, type Outcome } from '../queue/outcome.ts';
import { wellConditions } from '../queue/well-conditions.ts';
import { writeStatus } from '../queue/write-status.ts';

/** Counts the keys of a group. There is nothing that could keep a group from being as it is written. */
export async function reconcileGroup(
  { store, caches, clock }: { store: ResourceStore; caches: Caches; clock: Clock },
  name: string,
): Promise<Outcome> {
  const group = caches.groups.get(name);
  if (group === undefined) return DONE;
  const keys = caches.keysByGroup.names(name).size;
  const conditions = wellConditions(group, clock.now());
  await writeStatus(store, group, { ...group.status, observedGeneration: group.metadata.generation, conditions, keys });
  return DONE;
}

import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Caches } from '../caches/caches.ts';
import { DONE, type Outcome } from '../queue/outcome.ts';
import { writeStatus } from '../queue/write-status.ts';

/** Counts the keys of a group. */
export async function reconcileGroup(rooms: { store: ResourceStore; caches: Caches }, name: string): Promise<Outcome> {
  const group = rooms.caches.groups.get(name);
  if (group === undefined) return DONE;
  const keys = rooms.caches.keysByGroup.names(name).size;
  await writeStatus(rooms.store, group, { ...group.status, observedGeneration: group.metadata.generation, keys });
  return DONE;
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Caches } from '../caches/caches.ts';
import { DONE, type Outcome } from '../queue/outcome.ts';
import { wellConditions } from '../queue/well-conditions.ts';
import { writeStatus } from '../queue/write-status.ts';

/** Every program reads the settings itself; the operator says that it has seen them. */
export async function reconcileSettings(
  { store, caches, clock }: { store: ResourceStore; caches: Caches; clock: Clock },
  name: string,
): Promise<Outcome> {
  const settings = caches.settings.get(name);
  if (settings === undefined) return DONE;
  const conditions = wellConditions(settings, clock.now());
  await writeStatus(store, settings, {
    ...settings.status,
    observedGeneration: settings.metadata.generation,
    conditions,
  });
  return DONE;
}

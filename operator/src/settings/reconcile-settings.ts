import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Caches } from '../informers/caches.ts';
import { DONE, type Outcome } from '../controller/outcome.ts';
import { readyConditions } from '../controller/ready-conditions.ts';
import { writeStatus } from '../controller/write-status.ts';

/** Every program reads the settings itself; the operator only reports that it has seen them. */
export async function reconcileSettings(
  { store, caches, clock }: { store: ResourceStore; caches: Caches; clock: Clock },
  name: string,
): Promise<Outcome> {
  const settings = caches.settings.get(name);
  if (settings === undefined) return DONE;
  const conditions = readyConditions(settings, undefined, clock.now());
  await writeStatus(store, settings, {
    ...settings.status,
    observedGeneration: settings.metadata.generation,
    conditions,
  });
  return DONE;
}

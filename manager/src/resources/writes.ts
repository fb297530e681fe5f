import { conflict, isDomainError, type DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { CREATED_AT, UPDATED_AT } from '@wherry/core/resources/meta.ts';

/** Statuses are written beside specs, so losing a few rounds is normal; losing this many is not. */
const MAX_ROUNDS = 50;

/** Annotations of a new object. */
export function stampNew(clock: Clock): Record<string, string> {
  const now = String(Math.trunc(clock.now()));
  return { [CREATED_AT]: now, [UPDATED_AT]: now };
}

/**
 * Reads, changes and writes an object, again from the start whenever somebody else wrote in between.
 * @param change returns the new spec, or undefined to leave all as it is. It runs once a round.
 * @param missing the error when the object does not exist.
 * @throws DomainError `conflict` after too many rounds, and what `change` throws.
 */
export async function changeResource<K extends Kind>(
  { store, clock }: { store: ResourceStore; clock: Clock },
  target: { kind: K; id: string; missing: () => DomainError },
  change: (current: Resource<K>) => Resource<K>['spec'] | undefined | Promise<Resource<K>['spec'] | undefined>,
): Promise<Resource<K>> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const current = await store.get(target.kind, target.id);
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) throw target.missing();
    const spec = await change(current);
    if (spec === undefined || JSON.stringify(spec) === JSON.stringify(current.spec)) return current;
    const annotations = { ...current.metadata.annotations, [UPDATED_AT]: String(Math.trunc(clock.now())) };
    try {
      return await store.update({ ...current, metadata: { ...current.metadata, annotations }, spec });
    } catch (error) {
      if (isDomainError(error, 'not_found')) throw target.missing();
      if (!isDomainError(error, 'conflict')) throw error;
    }
  }
  throw conflict('The object keeps changing; try again.');
}

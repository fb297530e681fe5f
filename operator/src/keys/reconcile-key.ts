import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import type { Caches } from '../caches/caches.ts';
import { DONE, stalled, type Outcome } from '../queue/outcome.ts';
import { writeStatus } from '../queue/write-status.ts';
import type { KeyRecords } from './key-records.ts';
import { openingConditions, openingProblem } from '../secrets/opening-condition.ts';
import type { Undecryptable } from '../secrets/undecryptable.ts';

export interface KeyRooms {
  store: ResourceStore;
  caches: Caches;
  reader: ConfidentialReader;
  keyRecords: KeyRecords;
  undecryptable: Undecryptable;
  clock: Clock;
}

/** Says of a key whose value cannot be read that nobody can use it. */
export async function reconcileKey(rooms: KeyRooms, name: string): Promise<Outcome> {
  const { store, caches, reader, keyRecords, undecryptable, clock } = rooms;
  const key = caches.keys.get(name);
  // One that routers know was opened for them.
  const problem = key === undefined || keyRecords.of(name) !== undefined ? undefined : openingProblem(reader, key);
  undecryptable.set('ApiKey', name, problem?.reason === 'DecryptionFailed');
  if (key === undefined) return DONE;
  const conditions = openingConditions(key, { problem, always: false, now: clock.now() });
  if (conditions !== key.status.conditions) {
    await writeStatus(store, key, { ...key.status, observedGeneration: key.metadata.generation, conditions });
  }
  return problem === undefined ? DONE : stalled(problem.reason);
}

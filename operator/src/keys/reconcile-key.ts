import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import type { ApiKeyResource, KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../caches/caches.ts';
import { DONE, stalled, type Outcome } from '../queue/outcome.ts';
import { writeStatus } from '../queue/write-status.ts';
import type { KeyRecords } from './key-records.ts';
import { openingConditions, openingProblem, type Problem } from '../secrets/opening-condition.ts';
import type { Undecryptable } from '../secrets/undecryptable.ts';

interface KeyDependencies {
  store: ResourceStore;
  caches: Caches;
  reader: ConfidentialReader;
  keyRecords: KeyRecords;
  undecryptable: Undecryptable;
  clock: Clock;
}

/** Says of a key whether callers can use it, and why they cannot. */
export async function reconcileKey(dependencies: KeyDependencies, name: string): Promise<Outcome> {
  const { store, caches, reader, keyRecords, undecryptable, clock } = dependencies;
  const key = caches.keys.get(name);
  // One that routers know was opened for them.
  const unread = key === undefined || keyRecords.of(name) !== undefined ? undefined : openingProblem(reader, key);
  undecryptable.set('ApiKey', name, unread?.reason === 'DecryptionFailed');
  if (key === undefined) return DONE;
  const problem = unread ?? groupProblem(caches, key);
  const conditions = openingConditions(key, problem, clock.now());
  await writeStatus(store, key, { ...key.status, observedGeneration: key.metadata.generation, conditions });
  return problem === undefined ? DONE : stalled(problem.reason);
}

function groupProblem(caches: Caches, { spec }: ApiKeyResource): Problem | undefined {
  if (isThere(caches.groups.get(spec.keyGroup))) return undefined;
  return {
    reason: 'KeyGroupNotFound',
    message: `There is no key group ${spec.keyGroup}, which spec.keyGroup names: calls with the key are refused. Create the group, or delete the key.`,
  };
}

/** Whether keys of the group open anything. */
export function isThere(group: KeyGroupResource | undefined): boolean {
  return group !== undefined && group.metadata.deletionTimestamp === undefined;
}

import { expiryOf } from '@wherry/core/keys/usable-key.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import type { ApiKeyResource, KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../caches/caches.ts';
import { DONE, requeueAfter, stalled, type Outcome } from '../queue/outcome.ts';
import { writeStatus } from '../queue/write-status.ts';
import type { KeyRecords } from './key-records.ts';
import { openingConditions, openingProblem, type Problem } from '../secrets/opening-condition.ts';
import type { Undecryptable } from '../secrets/undecryptable.ts';

/** A key that will expire is looked at at least this often: the wall clock may be set, and a machine may sleep. */
const LOOK_AGAIN_MS = 86_400_000;

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
  const now = clock.now();
  const problem = closedProblem(key, now) ?? unread ?? groupProblem(caches, key);
  const conditions = openingConditions(key, problem, now);
  await writeStatus(store, key, { ...key.status, observedGeneration: key.metadata.generation, conditions });
  const expiry = expiryOf(key);
  if (expiry !== null && expiry > now) return requeueAfter(Math.min(expiry - now, LOOK_AGAIN_MS));
  return problem === undefined ? DONE : stalled(problem.reason);
}

/** Routers refuse such a key, whatever its value and its group are. */
function closedProblem(key: ApiKeyResource, now: number): Problem | undefined {
  if (!key.spec.enabled) {
    return {
      reason: 'Disabled',
      message:
        'The key is disabled: calls with it are refused. Set spec.enabled to true to have it work again, or delete the key.',
    };
  }
  const expiry = expiryOf(key);
  if (expiry === null || expiry > now) return undefined;
  return {
    reason: 'Expired',
    message: `The key expired at ${key.spec.expiresAt}: calls with it are refused. Set spec.expiresAt to a later time, or delete the key.`,
  };
}

function groupProblem(caches: Caches, { metadata, spec }: ApiKeyResource): Problem | undefined {
  if (isThere(caches.groups.get(spec.keyGroup))) return undefined;
  return {
    reason: 'KeyGroupNotFound',
    message: `There is no key group ${spec.keyGroup}, which spec.keyGroup of the key ${metadata.name} names: calls with it are refused. Create the group, or delete the key.`,
  };
}

/** Whether keys of the group open anything. */
export function isThere(group: KeyGroupResource | undefined): boolean {
  return group !== undefined && group.metadata.deletionTimestamp === undefined;
}

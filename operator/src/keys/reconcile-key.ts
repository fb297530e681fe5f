import { expiryOf } from '@wherry/core/confidential/usable-key.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { ApiKeyResource, KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../informers/caches.ts';
import { DONE, requeueAfter, stalled, type Outcome } from '../controller/outcome.ts';
import { readyConditions, type Problem } from '../controller/ready-conditions.ts';
import { writeStatus } from '../controller/write-status.ts';
import type { KeyRecords } from './key-records.ts';
import type { Undecryptable } from '../secrets/undecryptable.ts';

/** A key that will expire is checked at least this often: the wall clock may be set, and a machine may sleep. */
const LOOK_AGAIN_MS = 86_400_000;

interface KeyDependencies {
  store: ResourceStore;
  caches: Caches;
  reader: ConfidentialReader;
  keyRecords: KeyRecords;
  routers: {
    /** Which ApiKey has the value of this one; undefined where routers accept none with it. */
    keyHolder(name: string): string | undefined;
  };
  undecryptable: Undecryptable;
  clock: Clock;
}

/** Reports whether callers can use a key, and if not, why. */
export async function reconcileKey(dependencies: KeyDependencies, name: string): Promise<Outcome> {
  const { store, caches, reader, keyRecords, undecryptable, clock } = dependencies;
  const key = caches.keys.get(name);
  // A key that routers know has been decrypted for them.
  const isRead = key === undefined || keyRecords.of(name).length === valuesOf(key);
  const unread = isRead ? undefined : unreadProblem(reader, key);
  undecryptable.set('ApiKey', name, unread?.reason === 'DecryptionFailed');
  if (key === undefined) return DONE;
  const now = clock.now();
  const problem = closedProblem(key, now) ?? unread ?? placeProblem(dependencies, key);
  const conditions = readyConditions(key, problem, now, unread);
  await writeStatus(store, key, { ...key.status, observedGeneration: key.metadata.generation, conditions });
  const expiry = expiryOf(key);
  if (expiry !== null && expiry > now) return requeueAfter(Math.min(expiry - now, LOOK_AGAIN_MS));
  return problem === undefined ? DONE : stalled(problem.reason);
}

function valuesOf({ spec }: ApiKeyResource): number {
  return spec.previousValue === undefined ? 1 : 2;
}

function unreadProblem(
  reader: ConfidentialReader,
  key: ApiKeyResource,
): ReturnType<ConfidentialReader['read']>['problem'] {
  const { problem } = reader.read(key, 'spec.value');
  if (problem !== undefined || key.spec.previousValue === undefined) return problem;
  return reader.read(key, 'spec.previousValue').problem;
}

/** Routers refuse such a key, whatever its value and its group are. */
function closedProblem(key: ApiKeyResource, now: number): Problem | undefined {
  if (!key.spec.enabled) {
    return {
      reason: 'Disabled',
      message:
        'The key is disabled: calls with it are refused. Set spec.enabled to true to enable it, or delete the key.',
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
    message: `spec.keyGroup of the key ${metadata.name} names the key group ${spec.keyGroup}, which does not exist: calls with the key are refused. Create the group, or delete the key.`,
  };
}

/** What is wrong with the key among others. */
function placeProblem({ caches, routers }: KeyDependencies, key: ApiKeyResource): Problem | undefined {
  return groupProblem(caches, key) ?? valueProblem(key, routers.keyHolder(key.metadata.name));
}

/** @param holder the key to which routers count the value. */
function valueProblem({ metadata }: ApiKeyResource, holder: string | undefined): Problem | undefined {
  if (holder === undefined || holder === metadata.name) return undefined;
  return {
    reason: 'DuplicateValue',
    message: `The key ${metadata.name} has the same value as the key ${holder}, which is older: calls with that value count as calls with ${holder}. Change spec.value, or the Secret that it names, or delete one of the two keys.`,
  };
}

/** Whether keys of the group give access to anything. */
export function isThere(group: KeyGroupResource | undefined): boolean {
  return group !== undefined && group.metadata.deletionTimestamp === undefined;
}

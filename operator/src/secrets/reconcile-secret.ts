import { findCondition } from '@wherry/core/conditions.ts';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import { SCOPE_FIELD, type FunctionSecretSpec } from '@wherry/core/resources/function-secret.ts';
import type { FunctionSecretResource, Kind } from '@wherry/core/resources/kinds.ts';
import { secretOwner, type Caches } from '../caches/caches.ts';
import { DONE, requeueAfter, stalled, type Outcome } from '../queue/outcome.ts';
import { writeStatus } from '../queue/write-status.ts';
import { openingConditions, openingProblem, type Problem } from './opening-condition.ts';
import type { Undecryptable } from './undecryptable.ts';

/**
 * How old a secret must be to be deleted for an owner that it never had: one that is applied before its owner waits this
 * long for it.
 */
export const ORPHAN_AGE_MS = 3_600_000;

export interface SecretRooms {
  store: ResourceStore;
  caches: Caches;
  reader: ConfidentialReader;
  undecryptable: Undecryptable;
  clock: Clock;
  logger: Logger;
}

/** Deletes secrets with their owner, and says of one whose value cannot be read that nobody sees it. */
export function createSecretReconciler(rooms: SecretRooms): (name: string) => Promise<Outcome> {
  const { store, caches, reader, undecryptable } = rooms;

  return async function reconcileSecret(name) {
    const secret = caches.secrets.get(name);
    const problem = secret && openingProblem(reader, secret);
    undecryptable.set('FunctionSecret', name, problem?.reason === 'DecryptionFailed');
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return DONE;
    if (await isOrphan(store, caches, secret)) return leaveOrphan(rooms, secret);
    await say(rooms, secret, problem);
    return problem === undefined ? DONE : stalled(problem.reason);
  };
}

/** One that never had its owner waits for it; any other goes. */
async function leaveOrphan(rooms: SecretRooms, secret: FunctionSecretResource): Promise<Outcome> {
  const wait = hadOwner(secret) ? 0 : ORPHAN_AGE_MS - (rooms.clock.now() - Date.parse(secret.metadata.creationTimestamp));
  if (wait <= 0) {
    await deleteSecret(rooms, secret);
    return DONE;
  }
  await say(rooms, secret, noOwner(secret));
  return requeueAfter(wait);
}

async function say({ store, clock }: SecretRooms, secret: FunctionSecretResource, problem: Problem | undefined): Promise<void> {
  const conditions = openingConditions(secret, problem, clock.now());
  await writeStatus(store, secret, { ...secret.status, observedGeneration: secret.metadata.generation, conditions });
}

function noOwner({ spec }: FunctionSecretResource): Problem {
  const field = spec.scope === 'global' ? 'scope' : SCOPE_FIELD[spec.scope];
  return { reason: 'OwnerNotFound', message: `There is no ${spec[field as keyof FunctionSecretSpec] as string}, which spec.${field} names: create it. The secret is deleted when it is an hour old and still without it.` };
}

/** A `Ready` of another reason is written only where the owner is there: so it tells the operator after us too that it was. */
function hadOwner({ status }: FunctionSecretResource): boolean {
  const ready = findCondition(status.conditions, 'Ready');
  return ready !== undefined && ready.reason !== 'OwnerNotFound';
}

/** The caches of two kinds may be apart: that an owner is not there, the store has to say. */
async function isOrphan(store: ResourceStore, caches: Caches, { spec }: FunctionSecretResource): Promise<boolean> {
  const owner = ownerOf(spec, caches);
  if (owner === undefined || owner.cached !== undefined) return false;
  return (await store.get(owner.kind, owner.name)) === undefined;
}

function ownerOf(spec: FunctionSecretSpec, caches: Caches): { kind: Kind; name: string; cached: object | undefined } | undefined {
  if (spec.function !== undefined) return { kind: 'Function', name: spec.function, cached: caches.functions.get(spec.function) };
  if (spec.keyGroup !== undefined) return { kind: 'KeyGroup', name: spec.keyGroup, cached: caches.groups.get(spec.keyGroup) };
  if (spec.apiKey !== undefined) return { kind: 'ApiKey', name: spec.apiKey, cached: caches.keys.get(spec.apiKey) };
  return undefined;
}

async function deleteSecret({ store, logger }: SecretRooms, { metadata, spec }: FunctionSecretResource): Promise<void> {
  try {
    await store.delete('FunctionSecret', metadata.name, { uid: metadata.uid });
    logger.info({ secret: metadata.name, owner: secretOwner(spec) }, 'deleted a secret whose owner is gone');
  } catch (error) {
    if (!isDomainError(error, 'not_found')) throw error;
  }
}

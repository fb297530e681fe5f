import { findCondition } from '@wherry/core/conditions.ts';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import type { SecretOwner } from '@wherry/core/resources/function-secret.ts';
import type { FunctionSecretResource, Resource } from '@wherry/core/resources/kinds.ts';
import { secretOwner, type Caches } from '../caches/caches.ts';
import { DONE, requeueAfter, stalled, type Outcome } from '../queue/outcome.ts';
import { writeStatus } from '../queue/write-status.ts';
import { openingConditions, openingProblem, type Problem } from './opening-condition.ts';
import { boundOwner, cachedOwner, isOfEarlierOwner, namedOwner } from './owner.ts';
import type { Undecryptable } from './undecryptable.ts';

/**
 * How old a secret must be to be deleted for an owner that it never had: one that is applied before its owner waits
 * this long for it.
 */
export const ORPHAN_AGE_MS = 3_600_000;

interface SecretDependencies {
  store: ResourceStore;
  caches: Caches;
  reader: ConfidentialReader;
  undecryptable: Undecryptable;
  clock: Clock;
  logger: Logger;
}

/** Deletes secrets with their owner, and says of one whose value cannot be read that nobody sees it. */
export function createSecretReconciler(dependencies: SecretDependencies): (name: string) => Promise<Outcome> {
  const { caches, reader, undecryptable } = dependencies;

  return async function reconcileSecret(name) {
    const secret = caches.secrets.get(name);
    const problem = secret && openingProblem(reader, secret);
    undecryptable.set('FunctionSecret', name, problem?.reason === 'DecryptionFailed');
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return DONE;
    const owner = await ownerOf(dependencies, secret);
    if (owner === undefined || (owner !== 'global' && isOfEarlierOwner(secret, owner)))
      return leaveOrphan(dependencies, secret);
    await say(dependencies, secret, { problem, owner });
    return problem === undefined ? DONE : stalled(problem.reason);
  };
}

/** One that never had its owner waits for it; any other goes. */
async function leaveOrphan(dependencies: SecretDependencies, secret: FunctionSecretResource): Promise<Outcome> {
  const wait = hadOwner(secret)
    ? 0
    : ORPHAN_AGE_MS - (dependencies.clock.now() - Date.parse(secret.metadata.creationTimestamp));
  if (wait <= 0) {
    await deleteSecret(dependencies, secret);
    return DONE;
  }
  await say(dependencies, secret, { problem: noOwner(secret), owner: 'global' });
  return requeueAfter(wait);
}

/** What a secret belongs to. */
type Owner = Resource<SecretOwner['kind']> | 'global';

async function say(
  { store, clock }: SecretDependencies,
  secret: FunctionSecretResource,
  { problem, owner }: { problem: Problem | undefined; owner: Owner },
): Promise<void> {
  const conditions = openingConditions(secret, problem, clock.now());
  const bound =
    owner === 'global' ? undefined : { kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid };
  await writeStatus(store, secret, {
    ...secret.status,
    observedGeneration: secret.metadata.generation,
    conditions,
    owner: bound,
  });
}

function noOwner({ spec }: FunctionSecretResource): Problem {
  const { kind = '', name = '' } = namedOwner(spec) ?? {};
  return {
    reason: 'OwnerNotFound',
    message: `The ${kind} ${name}, to which the secret belongs (spec.scope ${spec.scope}), does not exist: create it. A secret without its owner is deleted after an hour.`,
  };
}

/**
 * The binding shows the operator after us too that the owner was there; before there were bindings, any other `Ready`
 * did.
 */
function hadOwner(secret: FunctionSecretResource): boolean {
  const { status } = secret;
  if (status.owner !== undefined) return boundOwner(secret) !== undefined;
  const ready = findCondition(status.conditions, 'Ready');
  return ready !== undefined && ready.reason !== 'OwnerNotFound';
}

/**
 * Undefined: there is none. The caches of two kinds may be apart, and a binding is for good: what is not bound to the
 * owner in the cache, the store has to say.
 */
async function ownerOf(
  { store, caches }: SecretDependencies,
  secret: FunctionSecretResource,
): Promise<Owner | undefined> {
  const named = namedOwner(secret.spec);
  if (named === undefined) return 'global';
  const cached = cachedOwner(caches, named);
  if (cached !== undefined && boundOwner(secret)?.uid === cached.metadata.uid) return cached;
  return store.get(named.kind, named.name);
}

async function deleteSecret(
  { store, logger }: SecretDependencies,
  { metadata, spec }: FunctionSecretResource,
): Promise<void> {
  try {
    await store.delete('FunctionSecret', metadata.name, { uid: metadata.uid });
    logger.info({ secret: metadata.name, owner: secretOwner(spec) }, 'deleted a secret whose owner is gone');
  } catch (error) {
    if (!isDomainError(error, 'not_found')) throw error;
  }
}

import { findCondition } from '@wherry/core/resources/conditions.ts';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { SecretOwner } from '@wherry/core/resources/function-secret.ts';
import type { FunctionSecretResource, Resource } from '@wherry/core/resources/kinds.ts';
import { boundOwner, isOfEarlierOwner, namedOwner } from '@wherry/core/resources/secret-owner.ts';
import { secretOwner, secretPlace, type Caches } from '../informers/caches.ts';
import { DONE, requeueAfter, stalled, type Outcome } from '../controller/outcome.ts';
import { readyConditions, type Problem } from '../controller/ready-conditions.ts';
import { writeStatus } from '../controller/write-status.ts';
import { cachedOwner } from './cached-owner.ts';
import { holderOf } from './secret-holder.ts';
import type { Undecryptable } from './undecryptable.ts';

/**
 * How old a secret without an owner must be before it is deleted: one that is applied before its owner waits this long
 * for it.
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

/** Deletes secrets together with their owner, and reports secrets that no handler gets. */
export function createSecretReconciler(dependencies: SecretDependencies): (name: string) => Promise<Outcome> {
  const { caches, reader, undecryptable } = dependencies;

  return async function reconcileSecret(name) {
    const secret = caches.secrets.get(name);
    const unread = secret && reader.read(secret, 'spec.value').problem;
    undecryptable.set('FunctionSecret', name, unread?.reason === 'DecryptionFailed');
    if (secret === undefined) return DONE;
    if (secret.metadata.deletionTimestamp === undefined) return keepSecret(dependencies, secret, unread);
    await say(dependencies, secret, { problem: undefined, unread, owner: secret.status.owner });
    return DONE;
  };
}

/** @param unread why its value cannot be read. */
async function keepSecret(
  dependencies: SecretDependencies,
  secret: FunctionSecretResource,
  unread: Problem | undefined,
): Promise<Outcome> {
  const owner = await ownerOf(dependencies, secret);
  if (owner === undefined || (owner !== 'global' && isOfEarlierOwner(secret, owner)))
    return leaveOrphan(dependencies, secret, unread);
  const problem = placeProblem(dependencies.caches, secret) ?? unread;
  await say(dependencies, secret, { problem, unread, owner: owner === 'global' ? undefined : binding(owner) });
  return problem === undefined ? DONE : stalled(problem.reason);
}

/** What is wrong with the secret among others. */
function placeProblem(caches: Caches, { metadata, spec }: FunctionSecretResource): Problem | undefined {
  const holder = holderOf(caches, secretPlace(spec))?.metadata.name;
  if (holder === undefined || holder === metadata.name) return undefined;
  return {
    reason: 'DuplicateName',
    message: `The secrets ${metadata.name} and ${holder} have the same spec.name, ${spec.name}, in the same scope: handlers get the value of ${holder}, which is older. Write another name, or delete one of the two secrets.`,
  };
}

/** A secret that never had its owner waits for it; any other is deleted. */
async function leaveOrphan(
  dependencies: SecretDependencies,
  secret: FunctionSecretResource,
  unread: Problem | undefined,
): Promise<Outcome> {
  const wait = hadOwner(secret)
    ? 0
    : ORPHAN_AGE_MS - (dependencies.clock.now() - Date.parse(secret.metadata.creationTimestamp));
  if (wait <= 0) {
    await deleteSecret(dependencies, secret);
    return DONE;
  }
  await say(dependencies, secret, { problem: noOwner(secret), unread, owner: undefined });
  return requeueAfter(wait);
}

/** What a secret belongs to. */
type Owner = Resource<SecretOwner['kind']> | 'global';

async function say(
  { store, clock }: SecretDependencies,
  secret: FunctionSecretResource,
  { problem, unread, owner }: Record<'problem' | 'unread', Problem | undefined> & { owner: SecretOwner | undefined },
): Promise<void> {
  const conditions = readyConditions(secret, problem, clock.now(), unread);
  await writeStatus(store, secret, {
    ...secret.status,
    observedGeneration: secret.metadata.generation,
    conditions,
    owner,
  });
}

function binding({ kind, metadata }: Resource<SecretOwner['kind']>): SecretOwner {
  return { kind, name: metadata.name, uid: metadata.uid };
}

function noOwner({ spec }: FunctionSecretResource): Problem {
  const { kind = '', name = '' } = namedOwner(spec) ?? {};
  return {
    reason: 'OwnerNotFound',
    message: `The ${kind} ${name}, which owns the secret (spec.scope ${spec.scope}), does not exist: create it. A secret without its owner is deleted after an hour.`,
  };
}

/**
 * The binding shows later operators too that the owner existed; before there were bindings, any other reason of `Ready`
 * did.
 */
function hadOwner(secret: FunctionSecretResource): boolean {
  const { status } = secret;
  if (status.owner !== undefined) return boundOwner(secret) !== undefined;
  const ready = findCondition(status.conditions, 'Ready');
  return ready !== undefined && ready.reason !== 'OwnerNotFound';
}

/**
 * Undefined if there is none. The caches of two kinds may be out of step, and a binding is permanent: if the secret is
 * not bound to the owner in the cache, the store is read.
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

import { oldest } from '@wherry/core/resources/age.ts';
import type { FunctionSecretResource } from '@wherry/core/resources/kinds.ts';
import { isOfEarlierOwner, namedOwner } from '@wherry/core/resources/secret-owner.ts';
import { secretPlace, type Caches } from '../informers/caches.ts';
import { cachedOwner } from './cached-owner.ts';

/**
 * Of secrets that have one owner and one name, the one that handlers get: the oldest, of the same age the first by
 * `metadata.name`. One whose value cannot be read keeps its place: handlers must not get another's value instead.
 */
export function holdersOf(caches: Caches, secrets: readonly FunctionSecretResource[]): FunctionSecretResource[] {
  const claims = secrets.filter((secret) => hasClaim(caches, secret));
  return [...Map.groupBy(claims, ({ spec }) => secretPlace(spec)).values()].flatMap((rivals) => oldest(rivals) ?? []);
}

/** The secret that has the place; undefined where none claims it. */
export function holderOf(caches: Caches, place: string): FunctionSecretResource | undefined {
  const rivals = [...caches.secretsByPlace.names(place)].flatMap((name) => caches.secrets.get(name) ?? []);
  return holdersOf(caches, rivals)[0];
}

function hasClaim(caches: Caches, secret: FunctionSecretResource): boolean {
  if (secret.metadata.deletionTimestamp !== undefined) return false;
  const owner = namedOwner(secret.spec);
  return owner === undefined || !isOfEarlierOwner(secret, cachedOwner(caches, owner));
}

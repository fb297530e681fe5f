import type { FunctionSecretSpec, SecretOwner } from '@wherry/core/resources/function-secret.ts';
import type { FunctionSecretResource, Resource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../caches/caches.ts';

/** What the spec of a secret names as its owner; undefined for a global one. */
export function namedOwner({
  function: fn,
  keyGroup,
  apiKey,
}: FunctionSecretSpec): Omit<SecretOwner, 'uid'> | undefined {
  if (fn !== undefined) return { kind: 'Function', name: fn };
  if (keyGroup !== undefined) return { kind: 'KeyGroup', name: keyGroup };
  return apiKey === undefined ? undefined : { kind: 'ApiKey', name: apiKey };
}

/** The owner as the caches know it. */
export function cachedOwner(
  caches: Caches,
  { kind, name }: Omit<SecretOwner, 'uid'>,
): Resource<SecretOwner['kind']> | undefined {
  if (kind === 'Function') return caches.functions.get(name);
  return kind === 'KeyGroup' ? caches.groups.get(name) : caches.keys.get(name);
}

/** The owner that a secret was bound to; undefined while it is bound to none, and once its spec names another. */
export function boundOwner({ spec, status }: FunctionSecretResource): SecretOwner | undefined {
  const named = namedOwner(spec);
  const { owner } = status;
  return owner !== undefined && named?.kind === owner.kind && named.name === owner.name ? owner : undefined;
}

/** Whether the secret is an earlier owner's, of the same name: whoever has that name now is not given it. */
export function isOfEarlierOwner(
  secret: FunctionSecretResource,
  present: { metadata: { uid: string } } | undefined,
): boolean {
  const bound = boundOwner(secret);
  return bound !== undefined && bound.uid !== present?.metadata.uid;
}

import type { FunctionSecretSpec, SecretOwner } from './function-secret.ts';
import type { FunctionSecretResource } from './kinds.ts';

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

/** The owner that a secret was bound to; undefined while it is bound to none, and once its spec names another. */
export function boundOwner({ spec, status }: FunctionSecretResource): SecretOwner | undefined {
  const named = namedOwner(spec);
  const { owner } = status;
  return owner !== undefined && named?.kind === owner.kind && named.name === owner.name ? owner : undefined;
}

/** Whether the secret belongs to an earlier owner of the same name: the present owner of that name must not get it. */
export function isOfEarlierOwner(
  secret: FunctionSecretResource,
  present: { metadata: { uid: string } } | undefined,
): boolean {
  const bound = boundOwner(secret);
  return bound !== undefined && bound.uid !== present?.metadata.uid;
}

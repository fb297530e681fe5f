import type { SecretOwner } from '@wherry/core/resources/function-secret.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';
import type { Caches } from '../informers/caches.ts';

/** The owner as the caches know it. */
export function cachedOwner(
  caches: Caches,
  { kind, name }: Omit<SecretOwner, 'uid'>,
): Resource<SecretOwner['kind']> | undefined {
  if (kind === 'Function') return caches.functions.get(name);
  return kind === 'KeyGroup' ? caches.groups.get(name) : caches.keys.get(name);
}

import { isDeepStrictEqual } from 'node:util';
import { isDomainError } from '@wherry/core/errors.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Kind, KindTypes, Resource } from '@wherry/core/resources/kinds.ts';

/**
 * Writes an object's status where it differs from what the object holds (K3); fields that are undefined are absent.
 * @returns whether anything was written.
 * @throws DomainError `conflict` when the object that was read is not the newest.
 */
export async function writeStatus<K extends Kind>(
  store: ResourceStore,
  resource: Resource<K>,
  status: { [F in keyof KindTypes[K]['status']]: KindTypes[K]['status'][F] | undefined },
): Promise<boolean> {
  const next = withoutUndefined(status) as KindTypes[K]['status'];
  if (isDeepStrictEqual(next, resource.status)) return false;
  try {
    await store.updateStatus<K>({ ...resource, status: next });
    return true;
  } catch (error) {
    // It was deleted meanwhile: the watch will report it.
    if (isDomainError(error, 'not_found')) return false;
    throw error;
  }
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}

import { isDomainError } from '@wherry/core/errors.ts';
import type { SystemObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';

/** How many other writers may interfere. */
const ATTEMPTS = 10;

/**
 * Brings an object to its desired state. Operators that do so concurrently agree: the second one reads again what the
 * first one wrote.
 * @param decide what the data should be, given what they are; the same object, to leave them. It is called again when
 * another write was first.
 * @throws DomainError when the API server cannot take it, or other writers keep interfering.
 */
export async function ensureObject<T>(
  objects: SystemObjects<T>,
  name: string,
  decide: (data: Record<string, T> | undefined) => Record<string, T> | Promise<Record<string, T>>,
): Promise<Record<string, T>> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await objects.get(name);
    const wanted = await decide(found?.data);
    if (wanted === found?.data) return wanted;
    try {
      return (await write(objects, name, { found, wanted })).data;
    } catch (error) {
      if (!isDomainError(error, 'conflict') || attempt === ATTEMPTS) throw error;
    }
  }
}

function write<T>(
  objects: SystemObjects<T>,
  name: string,
  { found, wanted }: { found: SystemObject<T> | undefined; wanted: Record<string, T> },
): Promise<SystemObject<T>> {
  return found === undefined ? objects.create(name, wanted) : objects.update(name, wanted, found.resourceVersion);
}

import { isDomainError } from '@wherry/core/errors.ts';
import type { SystemObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';

/** Writers that may come in between. */
const ATTEMPTS = 10;

/**
 * Brings an object to what it should be. Operators that do so at once agree: who is second looks again at what the
 * first one wrote.
 * @param decide what the data should be, given what they are; the same object, to leave them. It is called again when
 * another write was first.
 * @throws DomainError when the API server cannot take it, or others write again and again.
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

import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';

/**
 * The same store, each of whose calls ends in time: with `unavailable` where it would take longer, so that a caller of
 * the API has an answer. What a write that took too long did is unknown, as after any 503. Watches are as before.
 */
export function boundedStore(store: ResourceStore, clock: Clock, limitMs: number): ResourceStore {
  async function bounded<T>(call: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const cancel = clock.after(limitMs, () => late.reject(new DomainError('unavailable', 'The store of the objects does not answer in time; try again later.')));
    try {
      return await Promise.race([call, late.promise]);
    } finally {
      cancel();
    }
  }
  return {
    namespace: store.namespace,
    get: (kind, name) => bounded(store.get(kind, name)),
    list: (kind) => bounded(store.list(kind)),
    create: (object) => bounded(store.create(object)),
    update: (object) => bounded(store.update(object)),
    updateStatus: (object) => bounded(store.updateStatus(object)),
    delete: (kind, name, preconditions) => bounded(store.delete(kind, name, preconditions)),
    watch: (kind, options) => store.watch(kind, options),
  };
}

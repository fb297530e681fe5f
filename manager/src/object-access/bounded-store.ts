import { DomainError, isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';

/** How often a store that has fallen silent is probed. */
const PROBE_MS = 1000;

/**
 * The same store with a time limit on each call: a call that would take longer fails with `unavailable`, so that a
 * caller of the API gets an answer. From then on every call is refused at once until the store answers again, because
 * writes wait for each other and their waits would add up. Whether a write that took too long succeeded is unknown, as
 * after any 503. Watches are unchanged.
 */
export function boundedStore(store: ResourceStore, clock: Clock, limitMs: number): ResourceStore & { stop(): void } {
  const silence = createSilence(() => store.get('Settings', SETTINGS_NAME), clock);

  async function bounded<T>(call: () => Promise<T>): Promise<T> {
    if (silence.isSilent()) throw silent();
    const late = Promise.withResolvers<never>();
    const cancel = clock.after(limitMs, () => {
      silence.begin();
      late.reject(silent());
    });
    try {
      return await Promise.race([silence.heard(call()), late.promise]);
    } finally {
      cancel();
    }
  }

  return {
    namespace: store.namespace,
    get: (kind, name) => bounded(() => store.get(kind, name)),
    list: (kind) => bounded(() => store.list(kind)),
    create: (object) => bounded(() => store.create(object)),
    update: (object) => bounded(() => store.update(object)),
    updateStatus: (object) => bounded(() => store.updateStatus(object)),
    delete: (kind, name, preconditions) => bounded(() => store.delete(kind, name, preconditions)),
    watch: (kind, options) => store.watch(kind, options),
    stop: () => silence.stop(),
  };
}

/** Whether a store has fallen silent, which lasts until any answer of it arrives. */
function createSilence(probe: () => Promise<unknown>, clock: Clock) {
  let isSilent = false;
  let stopped = false;
  let cancel = (): void => undefined;

  /** The same call; any answer to it ends the silence. */
  async function heard<T>(call: Promise<T>): Promise<T> {
    try {
      const answer = await call;
      end();
      return answer;
    } catch (error) {
      if (!isDomainError(error, 'unavailable')) end();
      throw error;
    }
  }

  function end(): void {
    isSilent = false;
    cancel();
  }

  /** Probes repeatedly, without waiting for answers: a lost answer must not delay the next probe. */
  function keepProbing(): void {
    if (!isSilent || stopped) return;
    heard(probe()).catch(() => undefined);
    cancel = clock.after(PROBE_MS, keepProbing);
  }

  return {
    isSilent: () => isSilent,
    heard,
    begin() {
      if (isSilent) return;
      isSilent = true;
      keepProbing();
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

function silent(): DomainError {
  return new DomainError('unavailable', 'The object store did not answer in time; try again later.');
}

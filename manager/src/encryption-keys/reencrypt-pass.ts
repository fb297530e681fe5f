import { setImmediate } from 'node:timers/promises';
import { ENCRYPTED_KINDS } from '@wherry/core/confidential/confidential-fields.ts';
import { countEncrypted, reencrypt, staleFields } from '@wherry/core/confidential/reencrypt.ts';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';
import type { Counts } from '@wherry/service/keys/ring-transitions.ts';

/** How often one object is tried while others write it too; then the next pass has it. */
const ATTEMPTS = 10;

interface PassOptions {
  store: ResourceStore;
  keyRing: KeyRing;
  clock: Clock;
  /** Read before each batch, so that a changed setting takes effect at once. */
  pace: () => { batchSize: number; batchSleepMs: number };
  onProgress: (counts: Counts) => void;
  signal: AbortSignal;
}

/** A value that is still as it was: `ApiKey team-ci (spec.value)`, and why. */
interface FailedValue {
  object: string;
  problem: string;
}

interface PassResult {
  counts: Counts;
  /** Objects that were written, or should have been: while there are any, another pass must look. */
  unfinished: number;
  failures: FailedValue[];
}

/**
 * Looks at every confidential value once, and encrypts again, by compare-and-swap, those that do not have the current
 * key. What others write meanwhile is never overwritten.
 * @throws DomainError where the store is not available; the signal's reason when it aborts.
 */
export async function reencryptPass(options: PassOptions): Promise<PassResult> {
  const { store, keyRing, clock, pace, onProgress, signal } = options;
  const { stale, total } = await listStale(store, keyRing);
  const failures: FailedValue[] = [];
  let waiting = stale.reduce((sum, object) => sum + staleFields(keyRing, object).length, 0);
  const counts = (): Counts => ({
    processed: total - waiting - failures.length,
    total,
    failed: failures.length,
  });
  let unfinished = 0;
  onProgress(counts());
  for (let index = 0; index < stale.length;) {
    const { batchSize, batchSleepMs } = pace();
    for (const object of stale.slice(index, index + batchSize)) {
      signal.throwIfAborted();
      const result = await reencryptObject(store, keyRing, object);
      waiting -= staleFields(keyRing, object).length;
      failures.push(...result.failures);
      unfinished += result.unfinished ? 1 : 0;
      // A store on SQLite answers within the turn of the event loop: requests are served between two objects.
      await setImmediate();
    }
    onProgress(counts());
    index += batchSize;
    if (index < stale.length && batchSleepMs > 0) await clock.sleep(batchSleepMs, signal);
  }
  return { counts: counts(), unfinished, failures };
}

async function listStale(store: ResourceStore, keyRing: KeyRing): Promise<{ stale: Resource[]; total: number }> {
  const stale: Resource[] = [];
  let total = 0;
  for (const kind of ENCRYPTED_KINDS) {
    const { items } = await store.list(kind);
    for (const item of items) {
      total += countEncrypted(item);
      if (staleFields(keyRing, item).length > 0) stale.push(item);
    }
  }
  return { stale, total };
}

/** `unfinished`: it was written, or others wrote it each time. */
async function reencryptObject(
  store: ResourceStore,
  keyRing: KeyRing,
  listed: Resource,
): Promise<{ unfinished: boolean; failures: FailedValue[] }> {
  let current: Resource | undefined = listed;
  for (let attempt = 0; current !== undefined && attempt < ATTEMPTS; attempt += 1) {
    const { resource, unopened } = reencrypt(keyRing, current);
    const { kind, metadata }: Resource = current;
    const failures = unopened.map(({ field, error }) => ({
      object: `${kind} ${metadata.name} (${field})`,
      problem: error.message,
    }));
    if (resource === current) return { unfinished: false, failures };
    try {
      await store.update(resource);
      return { unfinished: true, failures };
    } catch (error) {
      // An object that the rules of this version refuse can be written by nobody until a person changes it.
      if (isDomainError(error, 'validation_failed'))
        return { unfinished: false, failures: [{ object: `${kind} ${metadata.name}`, problem: error.message }] };
      if (!isDomainError(error, 'conflict') && !isDomainError(error, 'not_found')) throw error;
      current = await store.get(kind, metadata.name);
    }
  }
  return { unfinished: true, failures: [] };
}

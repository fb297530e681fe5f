import { confidentialValues, ENCRYPTED_KINDS } from '@wherry/core/confidential/confidential-fields.ts';
import { conflict, DomainError, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { z } from 'zod';
import type { RingStorage } from '@wherry/service/keys/ring-storage.ts';
import {
  beginRotation,
  keyState,
  lastRotation,
  nextRotation,
  purge,
  runningRotation,
  type Ring,
} from '@wherry/service/keys/ring-transitions.ts';
import { envelopeNeeds } from '@wherry/core/confidential/reencrypt.ts';
import { isoOrNull, isoTime } from '../object-access/shape.ts';
import type { encryptionKeyListSchema, rotationStatusSchema } from './encryption-key-schemas.ts';
import type { RotationJob, RotationSettings } from './rotation-job.ts';

interface EncryptionKeyServiceOptions {
  /** With the time limit of requests. */
  store: ResourceStore;
  ring: RingStorage;
  job: Pick<RotationJob, 'counts'>;
  settings: () => RotationSettings;
  clock: Clock;
  /** Aborts when the manager stops. */
  stopping: AbortSignal;
}

const DAY_MS = 86_400_000;

/** The versions of the master encryption key. */
export class EncryptionKeyService {
  readonly #options: EncryptionKeyServiceOptions;

  constructor(options: EncryptionKeyServiceOptions) {
    this.#options = options;
  }

  status(): z.input<typeof rotationStatusSchema> {
    const { ring, job, settings, clock } = this.#options;
    const state = ring.ring();
    const { intervalDays } = settings();
    const last = lastRotation(state);
    return {
      lastRotationAt: last === undefined ? null : isoTime(last),
      daysSinceRotation: last === undefined ? null : Math.max(0, Math.floor((clock.now() - last) / DAY_MS)),
      nextRotationAt: isoTime(nextRotation(state, intervalDays * DAY_MS)),
      rotationIntervalDays: intervalDays,
      currentVersion: state.current,
      isInProgress: runningRotation(state) !== undefined,
      ...countsOf(job),
    };
  }

  list(): z.input<typeof encryptionKeyListSchema>['keys'] {
    const state = this.#options.ring.ring();
    return state.keys
      .toSorted((a, b) => a.version - b.version)
      .map((key) => ({
        version: key.version,
        state: keyState(state, key),
        createdAt: key.createdAt,
        retiredAt: isoOrNull(key.retiredAt),
      }));
  }

  /**
   * Adds a key; the replica that leads does the rest.
   * @returns its version.
   * @throws DomainError `conflict` while a rotation runs.
   */
  async begin(): Promise<number> {
    const { ring, clock } = this.#options;
    let version = 0;
    await ring.change((state) => {
      const next = beginRotation(state, clock.now());
      version = next.rotation?.target ?? 0;
      return next;
    });
    return version;
  }

  /**
   * Waits for the end of a rotation.
   * @returns how many values there are.
   * @throws DomainError `conflict` where some do not decrypt; `unavailable` when the service stops first.
   */
  async ended(version: number): Promise<number> {
    const { ring, stopping } = this.#options;
    const over = Promise.withResolvers<undefined>();
    const look = (): void => {
      if (runningRotation(ring.ring())?.target !== version) over.resolve(undefined);
    };
    const unsubscribe = ring.onChange(look);
    stopping.addEventListener('abort', () => over.resolve(undefined), { once: true });
    look();
    await over.promise;
    unsubscribe();
    return outcomeOf(ring.ring(), version);
  }

  /**
   * Deletes a retired key for good.
   * @returns its version.
   * @throws DomainError `not_found`; `conflict` for a key that is not retired, or that a value needs.
   */
  async purge(given: string): Promise<number> {
    const { ring, store } = this.#options;
    const version = /^[1-9]\d{0,9}$/.test(given) ? Number(given) : 0;
    // Its own rules first: nothing is listed for a key that could not be purged anyway.
    if (version === 0) throw notFound(`There is no encryption key of version ${given}.`);
    purge(ring.ring(), version);
    for (const kind of ENCRYPTED_KINDS) {
      const { items } = await store.list(kind);
      const holder = items.find((item) => confidentialValues(item).some(({ value }) => envelopeNeeds(value, version)));
      if (holder !== undefined)
        throw conflict(
          `${kind} ${holder.metadata.name} has a value that is encrypted with the key of version ${version}: rotate again, or write that value again.`,
        );
    }
    await ring.change((state) => purge(state, version));
    return version;
  }
}

function countsOf(job: Pick<RotationJob, 'counts'>) {
  const { processed, total, failed } = job.counts();
  return { processed, total, failed };
}

function outcomeOf(ring: Ring, version: number): number {
  const { rotation } = ring;
  if (rotation?.target !== version || rotation.finishedAt === undefined) {
    if (ring.current > version) return rotation?.total ?? 0;
    throw new DomainError('unavailable', 'The service is stopping: the rotation continues when it has started again.');
  }
  if (rotation.failed === 0) return rotation.total;
  throw conflict(
    `Encryption key version ${version} is active, but ${rotation.failed} of ${rotation.total} values do not decrypt, so the older keys are kept: ` +
      'their objects have the condition Degraded. Write these values again, or restore their key.',
  );
}

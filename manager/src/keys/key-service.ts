import { randomUUID } from 'node:crypto';
import { conflict, isDomainError, notFound, type DomainError } from '@wherry/core/errors.ts';
import { generateKeyValue } from '@wherry/core/keys/key-value.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { sealConfidential } from '@wherry/core/resources/confidential-fields.ts';
import { displayName, type ApiKeyResource } from '@wherry/core/resources/kinds.ts';
import type { KeyAccess } from '../access/key-access.ts';
import { refused, requireSame } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { isId, isoTime } from '../resources/shape.ts';
import { changeResource, stampNew } from '../resources/writes.ts';
import type { WriteBarrier } from '../resources/write-barrier.ts';
import type { KeyCreate, KeyUpdate } from './key-schemas.ts';

interface KeyServiceOptions {
  store: ResourceStore;
  keyRing: KeyRing;
  clock: Clock;
  lock: KeyedLock;
  access: Pick<KeyAccess, 'holderOf'>;
  barrier: WriteBarrier;
}

/** API keys. Every write waits until authentication has seen it. */
export class KeyService {
  readonly #options: KeyServiceOptions;

  constructor(options: KeyServiceOptions) {
    this.#options = options;
  }

  /** @param groupId only this group's. @throws DomainError `not_found` for an unknown group. */
  async list(groupId: string | undefined): Promise<ApiKeyResource[]> {
    if (groupId !== undefined && !(await this.#groupExists(groupId)))
      throw notFound(`There is no key group with the id ${groupId}.`);
    const { items } = await this.#options.store.list('ApiKey');
    return items.filter(
      ({ metadata, spec }) =>
        metadata.deletionTimestamp === undefined && (groupId === undefined || spec.keyGroup === groupId),
    );
  }

  /** @throws DomainError `not_found`. */
  async get(id: string): Promise<ApiKeyResource> {
    const found = isId(id) ? await this.#options.store.get('ApiKey', id) : undefined;
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) throw missingKey(id);
    return found;
  }

  /**
   * Creates a key, with a random value where none is given.
   * @throws DomainError `conflict` when name or value is taken; `validation_failed` for an unknown group or a past
   * expiry.
   */
  create(body: KeyCreate): Promise<{ key: ApiKeyResource; value: string }> {
    return this.#options.lock.run('keys', async () => {
      if (!(await this.#groupExists(body.groupId))) {
        throw refused([{ path: 'groupId', message: `there is no key group ${body.groupId}` }]);
      }
      const expiresAt = normalTime(body.expiresAt);
      if (expiresAt !== undefined && Date.parse(expiresAt) <= this.#options.clock.now()) {
        throw refused([{ path: 'expiresAt', message: 'must not be in the past' }]);
      }
      await this.#refuseTakenName(body.groupId, body.name);
      const value = body.value ?? generateKeyValue();
      this.#refuseTakenValue(value);
      const key = await this.#store(body, value, expiresAt);
      await this.#options.barrier.seen(key);
      return { key, value };
    });
  }

  /** Sets what the body names; null clears. Errors as for create, and `not_found`; a past expiry is taken. */
  update(id: string, body: KeyUpdate): Promise<ApiKeyResource> {
    return this.#options.lock.run('keys', async () => {
      const before = await this.get(id);
      requireSame('groupId', body.groupId, before.spec.keyGroup);
      refuseReferencedValue(before, body);
      if (body.name !== undefined) await this.#refuseTakenName(before.spec.keyGroup, body.name, id);
      if (body.value !== undefined) this.#refuseTakenValue(body.value, id);
      const target = { kind: 'ApiKey', id, missing: () => missingKey(id) } as const;
      const key = await changeResource(this.#options, target, (current) => this.#changed(current, body));
      return this.#options.barrier.seen(key);
    });
  }

  /** @returns what was removed. */
  async remove(id: string): Promise<ApiKeyResource> {
    const key = await this.get(id);
    try {
      await this.#options.store.delete('ApiKey', id, { uid: key.metadata.uid });
    } catch (error) {
      if (isDomainError(error, 'conflict') || isDomainError(error, 'not_found')) throw missingKey(id);
      throw error;
    }
    await this.#options.barrier.gone(key);
    return key;
  }

  #changed(current: ApiKeyResource, body: KeyUpdate): ApiKeyResource['spec'] {
    const { description, expiresAt, ...rest } = current.spec;
    const nextDescription = body.description === undefined ? description : (body.description ?? undefined);
    const nextExpiry = body.expiresAt === undefined ? expiresAt : normalTime(body.expiresAt);
    return {
      ...rest,
      ...(body.name === undefined ? {} : { displayName: body.name }),
      ...(nextDescription === undefined ? {} : { description: nextDescription }),
      ...(nextExpiry === undefined ? {} : { expiresAt: nextExpiry }),
      ...(body.value === undefined
        ? {}
        : { value: sealConfidential(this.#options.keyRing, current, 'spec.value', body.value) }),
      enabled: body.enabled ?? current.spec.enabled,
    };
  }

  async #store(body: KeyCreate, value: string, expiresAt: string | undefined): Promise<ApiKeyResource> {
    const { store, keyRing, clock } = this.#options;
    const createAs = (name: string): Promise<ApiKeyResource> => {
      const owner = { kind: 'ApiKey', metadata: { namespace: store.namespace, name } } as const;
      return store.create({
        kind: 'ApiKey',
        metadata: { name, annotations: stampNew(clock) },
        spec: {
          keyGroup: body.groupId,
          displayName: body.name,
          ...(body.description === null || body.description === undefined ? {} : { description: body.description }),
          value: sealConfidential(keyRing, owner, 'spec.value', value),
          enabled: body.enabled ?? true,
          ...(expiresAt === undefined ? {} : { expiresAt }),
        },
      });
    };
    try {
      return await createAs(nameFor(body.groupId, body.name));
    } catch (error) {
      if (!isDomainError(error, 'conflict')) throw error;
      // Either another manager was first, or a key that once had this name still has its id.
      await this.#refuseTakenName(body.groupId, body.name);
      return createAs(nameFor(body.groupId, randomUUID(), body.name));
    }
  }

  async #groupExists(id: string): Promise<boolean> {
    const group = isId(id) ? await this.#options.store.get('KeyGroup', id) : undefined;
    return group !== undefined && group.metadata.deletionTimestamp === undefined;
  }

  async #refuseTakenName(groupId: string, name: string, id?: string): Promise<void> {
    const { items } = await this.#options.store.list('ApiKey');
    const other = items.find(
      (key) => key.spec.keyGroup === groupId && displayName(key) === name && key.metadata.name !== id,
    );
    if (other !== undefined) throw conflict(`A key named ${name} exists already in the group ${groupId}.`);
  }

  #refuseTakenValue(value: string, id?: string): void {
    const holder = this.#options.access.holderOf(value);
    // Whose it is stays unsaid: the answer would confirm a guess of somebody else's key.
    if (holder !== undefined && holder !== id) throw conflict('Another key has this value.');
  }
}

/**
 * The value would be taken out of the Secret's hands without a word, and come back with the next sync of the object.
 */
function refuseReferencedValue({ spec }: ApiKeyResource, body: KeyUpdate): void {
  const reference = spec.value.secretKeyRef;
  if (body.value === undefined || reference === undefined) return;
  const message = `comes from the Secret ${reference.name}, key ${reference.key}: change it there`;
  throw refused([{ path: 'value', message }]);
}

function missingKey(id: string): DomainError {
  return notFound(`There is no key with the id ${id}.`);
}

function normalTime(time: string | null | undefined): string | undefined {
  return time === null || time === undefined ? undefined : isoTime(Date.parse(time));
}

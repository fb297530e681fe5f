import { randomUUID } from 'node:crypto';
import { conflict, DomainError, isDomainError } from '@wherry/core/errors.ts';
import { generateKeyValue } from '@wherry/core/crypto/key-value.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { previousValueEnd } from '@wherry/core/confidential/usable-key.ts';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { displayName, type ApiKeyResource, type FunctionSecretResource } from '@wherry/core/resources/kinds.ts';
import type { KeyAccess } from '../authentication/key-access.ts';
import { mayUse, type Principal } from '../http/principal.ts';
import { refused, requireSame } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { Collection, stampNew } from '../object-access/collection.ts';
import { refuseReferencedValue } from '../object-access/referenced-value.ts';
import { isoTime } from '../object-access/shape.ts';
import type { WriteBarrier } from '../object-access/write-barrier.ts';
import type { ScopedSecrets } from '../secrets/scoped-secrets.ts';
import { changedLimits } from './limit-fields.ts';
import type { KeyCreate, KeyRotate, KeyUpdate } from './key-schemas.ts';

interface KeyServiceOptions {
  store: ResourceStore;
  keyRing: KeyRing;
  reader: ConfidentialReader;
  clock: Clock;
  lock: KeyedLock;
  access: Pick<KeyAccess, 'holderOf' | 'isAccessGroup' | 'isLast'>;
  barrier: WriteBarrier;
  scopedSecrets: ScopedSecrets;
}

/** What a rotation leaves. */
interface RotatedKey {
  key: ApiKeyResource;
  value: string;
  previousValueExpiresAt: string;
}

/** API keys. Every write waits until authentication has seen it. */
export class KeyService {
  readonly #options: KeyServiceOptions;
  readonly #keys: Collection<'ApiKey'>;
  readonly #groups: Collection<'KeyGroup'>;

  constructor(options: KeyServiceOptions) {
    this.#options = options;
    this.#keys = new Collection('ApiKey', options);
    this.#groups = new Collection('KeyGroup', options);
  }

  /** @param groupId only this group's. @throws DomainError `not_found` for an unknown group. */
  async list(groupId: string | undefined): Promise<ApiKeyResource[]> {
    if (groupId === undefined) return this.#keys.list();
    await this.#groups.get(groupId);
    return (await this.#keys.list()).filter(({ spec }) => spec.keyGroup === groupId);
  }

  /** @throws DomainError `not_found`. */
  get(id: string): Promise<ApiKeyResource> {
    return this.#keys.get(id);
  }

  /**
   * Whether the caller may have a key of the group, and change it: who has one that may use the management API is an
   * administrator.
   */
  mayHold(groupId: string, principal: Principal | undefined): boolean {
    return !this.#options.access.isAccessGroup(groupId) || mayUse('administer', principal);
  }

  /** @throws DomainError `forbidden`, unless the caller may have a key of the group. */
  requireMayHold(groupId: string, principal: Principal | undefined): void {
    if (this.mayHold(groupId, principal)) return;
    throw new DomainError(
      'forbidden',
      `Keys of the group ${groupId} may use the management API: only administrators and management keys may create, change or delete them or read their values.`,
    );
  }

  /**
   * Creates a key, with a random value where none is given.
   * @throws DomainError `forbidden`, as `requireMayHold`; `conflict` when name or value is taken; `validation_failed`
   *   for an unknown group or a past expiry.
   */
  create(body: KeyCreate, principal: Principal | undefined): Promise<{ key: ApiKeyResource; value: string }> {
    return this.#options.lock.run('keys', async () => {
      this.requireMayHold(body.groupId, principal);
      if ((await this.#groups.find(body.groupId)) === undefined) {
        throw refused([{ path: 'groupId', message: `there is no key group with the id ${body.groupId}` }]);
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

  /**
   * Sets what the body names; null clears. Errors as for create, and `not_found`; a past expiry is accepted, but not
   * for the last key that may use the management API: `conflict`.
   */
  update(id: string, body: KeyUpdate, principal: Principal | undefined): Promise<ApiKeyResource> {
    return this.#options.lock.run('keys', async () => {
      const before = await this.get(id);
      this.requireMayHold(before.spec.keyGroup, principal);
      const isExpired = Date.parse(body.expiresAt ?? '') <= this.#options.clock.now();
      if (body.enabled === false || isExpired) this.#refuseShutOut(before, principal);
      requireSame('groupId', body.groupId, before.spec.keyGroup);
      refuseReferencedValue(before.spec, body.value);
      if (body.name !== undefined) await this.#refuseTakenName(before.spec.keyGroup, body.name, id);
      if (body.value !== undefined) this.#refuseTakenValue(body.value, id);
      const key = await this.#keys.change(id, (current) => this.#changed(current, body));
      return this.#options.barrier.seen(key);
    });
  }

  /**
   * Gives the key a random value, and keeps the one that it had valid for a while.
   * @throws DomainError `not_found`; `forbidden`, as `requireMayHold`; `validation_failed` where the value lies in a
   *   Kubernetes Secret; `conflict` while the value of the last rotation is still valid, unless nothing is to stay
   *   valid: a key has two values at the most, and no caller loses the older one unnoticed.
   */
  rotate(id: string, { overlapSeconds }: KeyRotate, principal: Principal | undefined): Promise<RotatedKey> {
    return this.#options.lock.run('keys', async () => {
      this.requireMayHold((await this.get(id)).spec.keyGroup, principal);
      const value = generateKeyValue();
      const end = isoTime(this.#options.clock.now() + overlapSeconds * 1000);
      const key = await this.#keys.change(id, (current) => {
        refuseReferencedValue(current.spec, value);
        const { previousValue: _value, previousValueExpiresAt: _end, ...rest } = current.spec;
        const previous = overlapSeconds === 0 ? {} : this.#asPrevious(current, end);
        return { ...rest, ...previous, value: sealConfidential(this.#options.keyRing, current, 'spec.value', value) };
      });
      return { key: await this.#options.barrier.seen(key), value, previousValueExpiresAt: end };
    });
  }

  /** The value that the key has, as its previous one. */
  #asPrevious(
    key: ApiKeyResource,
    end: string,
  ): Pick<ApiKeyResource['spec'], 'previousValue' | 'previousValueExpiresAt'> {
    const { clock, keyRing, reader } = this.#options;
    if ((previousValueEnd(key) ?? 0) > clock.now()) {
      throw conflict(
        `The previous value of the key ${displayName(key)} is valid until ${key.spec.previousValueExpiresAt}: ` +
          'rotate the key after that time, or with overlapSeconds 0, which invalidates both old values immediately.',
      );
    }
    const { value } = reader.read(key, 'spec.value');
    if (value === undefined) {
      throw conflict(
        `The value of the key ${displayName(key)} cannot be read, so it cannot stay valid: rotate the key with overlapSeconds 0.`,
      );
    }
    return {
      previousValue: sealConfidential(keyRing, key, 'spec.previousValue', value),
      previousValueExpiresAt: end,
    };
  }

  /**
   * @returns what was removed: the key and its secrets.
   * @throws DomainError `forbidden`, as `requireMayHold`; `conflict` for the last key that may use the management API.
   */
  remove(id: string, principal: Principal | undefined): Promise<(ApiKeyResource | FunctionSecretResource)[]> {
    return this.#options.lock.run('keys', async () => {
      const key = await this.get(id);
      this.requireMayHold(key.spec.keyGroup, principal);
      this.#refuseShutOut(key, principal);
      await this.#keys.remove(key);
      const secrets = await this.#options.scopedSecrets.removeOf(key);
      await this.#options.barrier.gone(key);
      return [key, ...secrets];
    });
  }

  #refuseShutOut(key: ApiKeyResource, principal: Principal | undefined): void {
    if (principal?.type === 'user' || !this.#options.access.isLast(key.metadata.name)) return;
    throw conflict(
      `The key ${displayName(key)} is the last one that may use the management API: ` +
        'create or enable another key of a group that the setting api.access-groups names first.',
    );
  }

  #changed(current: ApiKeyResource, body: KeyUpdate): ApiKeyResource['spec'] {
    const { description, expiresAt, rateLimit, dailyQuota, ...rest } = current.spec;
    const nextDescription = body.description === undefined ? description : (body.description ?? undefined);
    const nextExpiry = body.expiresAt === undefined ? expiresAt : normalTime(body.expiresAt);
    return {
      ...rest,
      ...(body.name === undefined ? {} : { displayName: body.name }),
      ...(nextDescription === undefined ? {} : { description: nextDescription }),
      ...(nextExpiry === undefined ? {} : { expiresAt: nextExpiry }),
      ...changedLimits({ rateLimit, dailyQuota }, body),
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
          ...changedLimits({}, body),
        },
      });
    };
    try {
      return await createAs(nameFor(body.groupId, body.name));
    } catch (error) {
      if (!isDomainError(error, 'conflict')) throw error;
      // Either another manager was faster, or a key that once had this name still has its id.
      await this.#refuseTakenName(body.groupId, body.name);
      return createAs(nameFor(body.groupId, randomUUID(), body.name));
    }
  }

  async #refuseTakenName(groupId: string, name: string, id?: string): Promise<void> {
    const { items } = await this.#options.store.list('ApiKey');
    const other = items.find(
      (key) => key.spec.keyGroup === groupId && displayName(key) === name && key.metadata.name !== id,
    );
    if (other !== undefined) throw conflict(`A key named ${name} already exists in the group ${groupId}.`);
  }

  #refuseTakenValue(value: string, id?: string): void {
    const holder = this.#options.access.holderOf(value);
    // The message does not say whose it is: that would confirm a guess of somebody else's key.
    if (holder !== undefined && holder !== id) throw conflict('Another key has this value.');
  }
}

function normalTime(time: string | null | undefined): string | undefined {
  return time === null || time === undefined ? undefined : isoTime(Date.parse(time));
}

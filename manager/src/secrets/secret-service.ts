import { randomUUID } from 'node:crypto';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { conflict, isDomainError, notFound } from '@wherry/core/errors.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { SecretOwner, SecretScope } from '@wherry/core/resources/function-secret.ts';
import type { FunctionSecretResource, Resource } from '@wherry/core/resources/kinds.ts';
import { isOfEarlierOwner, namedOwner } from '@wherry/core/resources/secret-owner.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { refused, requireSame } from '../http/validate.ts';
import { Collection, NOUNS, stampNew } from '../object-access/collection.ts';
import { refuseReferencedValue } from '../object-access/referenced-value.ts';
import { OWNED_SCOPES, OWNERS, requestedScope, type RequestedScope } from './requested-scope.ts';
import { secretView } from './secret-mapping.ts';
import type { SecretCreate, SecretFilters, SecretUpdate } from './secret-schemas.ts';

interface SecretServiceOptions {
  store: ResourceStore;
  keyRing: KeyRing;
  clock: Clock;
  lock: KeyedLock;
}

type Owner = Resource<SecretOwner['kind']>;

const FIXED_FIELDS = ['name', 'scope', 'scopeType', 'scopeRef', 'functionId', 'groupId', 'keyId'] as const;

/** What deletes an owner holds the lock of its kind, so that no secret is created for an owner that is being deleted. */
const LOCKS: Record<SecretScope, string> = { global: 'secrets', function: 'functions', group: 'keys', key: 'keys' };

/** Secrets of all scopes. */
export class SecretService {
  readonly #options: SecretServiceOptions;
  readonly #secrets: Collection<'FunctionSecret'>;
  readonly #owners: { [K in SecretOwner['kind']]: Collection<K> };

  constructor(options: SecretServiceOptions) {
    this.#options = options;
    this.#secrets = new Collection('FunctionSecret', options);
    this.#owners = {
      Function: new Collection('Function', options),
      KeyGroup: new Collection('KeyGroup', options),
      ApiKey: new Collection('ApiKey', options),
    };
  }

  /** Those that pass all filters. @throws DomainError `not_found` for an unknown function, group or key. */
  async list(filters: SecretFilters): Promise<FunctionSecretResource[]> {
    let secrets = await this.#secrets.list();
    if (filters.scope !== undefined) secrets = secrets.filter(({ spec }) => spec.scope === filters.scope);
    for (const scope of OWNED_SCOPES) {
      const { field, kind } = OWNERS[scope];
      const id = filters[field];
      if (id === undefined) continue;
      const owner = await this.#owners[kind].get(id);
      secrets = secrets.filter((secret) => belongsTo(secret, owner));
    }
    return secrets;
  }

  /** @throws DomainError `not_found` where there are none. */
  async listByName(name: string, scope: SecretScope | undefined): Promise<FunctionSecretResource[]> {
    const found = (await this.list({ scope })).filter(({ spec }) => spec.name === name);
    if (found.length > 0) return found;
    throw notFound(`There is no secret named ${name}${scope === undefined ? '' : ` of scope ${scope}`}.`);
  }

  /** @throws DomainError `not_found`. */
  get(id: string): Promise<FunctionSecretResource> {
    return this.#secrets.get(id);
  }

  /**
   * @throws DomainError `validation_failed` where the owner is missing, unknown or does not fit the scope; `conflict`
   *   when the name is taken in the scope.
   */
  async create(body: SecretCreate): Promise<FunctionSecretResource> {
    const requested = requestedScope(body);
    return this.#options.lock.run(LOCKS[requested.scope], async () => {
      const owner = await this.#ownerOf(requested);
      await this.#refuseTakenName(body.name, owner);
      return this.#store(body, requested, owner);
    });
  }

  /**
   * Sets what the body names; null clears the comment.
   * @throws DomainError `not_found`, `validation_failed` for a fixed field that differs and for a value that is in a
   *   Kubernetes Secret.
   */
  update(id: string, body: SecretUpdate): Promise<FunctionSecretResource> {
    return this.#secrets.change(id, (current) => {
      const view = secretView(current);
      for (const field of FIXED_FIELDS) requireSame(field, body[field], view[field]);
      refuseReferencedValue(current.spec, body.value);
      const { comment: before, ...rest } = current.spec;
      const comment = body.comment === undefined ? before : body.comment;
      return { ...rest, ...commented(comment), ...(body.value === undefined ? {} : this.#sealed(current, body.value)) };
    });
  }

  /** @returns what was removed. @throws DomainError `not_found`. */
  async remove(id: string): Promise<FunctionSecretResource> {
    const secret = await this.get(id);
    await this.#secrets.remove(secret);
    return secret;
  }

  /** Undefined for a global secret. */
  async #ownerOf({ owner }: RequestedScope): Promise<Owner | undefined> {
    if (owner === undefined) return undefined;
    const found = await this.#owners[owner.kind].find(owner.id);
    if (found !== undefined) return found;
    throw refused([{ path: owner.givenAs, message: `there is no ${NOUNS[owner.kind]} with the id ${owner.id}` }]);
  }

  async #refuseTakenName(name: string, owner: Owner | undefined): Promise<void> {
    const isTaken = (await this.#secrets.list()).some(
      (secret) => secret.spec.name === name && belongsTo(secret, owner),
    );
    if (isTaken) throw conflict(`A secret named ${name} already exists ${placeOf(owner)}.`);
  }

  async #store(
    body: SecretCreate,
    requested: RequestedScope,
    owner: Owner | undefined,
  ): Promise<FunctionSecretResource> {
    const { store, clock } = this.#options;
    const createAs = (name: string): Promise<FunctionSecretResource> => {
      const metadata = { name, annotations: stampNew(clock) };
      const spec = {
        name: body.name,
        scope: requested.scope,
        ...(requested.owner === undefined ? {} : { [requested.owner.specField]: requested.owner.id }),
        ...commented(body.comment),
        ...this.#sealed({ kind: 'FunctionSecret', metadata: { namespace: store.namespace, name } }, body.value),
      };
      return store.create({ kind: 'FunctionSecret', metadata, spec });
    };
    try {
      // By the owner's uid: an owner of the same name that was deleted may have left one that is not deleted yet.
      return await createAs(nameFor(requested.scope, owner?.metadata.uid ?? '', body.name));
    } catch (error) {
      if (!isDomainError(error, 'conflict')) throw error;
      // Either another manager was faster, or the spec of the object with this id was changed with kubectl.
      await this.#refuseTakenName(body.name, owner);
      return createAs(nameFor(requested.scope, randomUUID(), body.name));
    }
  }

  #sealed(
    secret: Parameters<typeof sealConfidential<'FunctionSecret'>>[1],
    value: string,
  ): Pick<FunctionSecretResource['spec'], 'value'> {
    return { value: sealConfidential(this.#options.keyRing, secret, 'spec.value', value) };
  }
}

/** Whether the secret is this very owner's, not that of an earlier one of the same name. Without an owner: global. */
function belongsTo(secret: FunctionSecretResource, owner: Owner | undefined): boolean {
  const named = namedOwner(secret.spec);
  if (owner === undefined || named === undefined) return owner === named;
  return named.kind === owner.kind && named.name === owner.metadata.name && !isOfEarlierOwner(secret, owner);
}

function placeOf(owner: Owner | undefined): string {
  return owner === undefined ? 'in the scope global' : `for the ${NOUNS[owner.kind]} ${owner.metadata.name}`;
}

function commented(comment: string | null | undefined): { comment?: string } {
  return comment === null || comment === undefined ? {} : { comment };
}

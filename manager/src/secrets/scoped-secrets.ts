import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { SecretOwner } from '@wherry/core/resources/function-secret.ts';
import type { FunctionSecretResource, Resource } from '@wherry/core/resources/kinds.ts';
import { namedOwner } from '@wherry/core/resources/secret-owner.ts';
import { Collection } from '../object-access/collection.ts';

/** The secrets that belong to a function, a key group or a key. */
export class ScopedSecrets {
  readonly #secrets: Collection<'FunctionSecret'>;

  constructor(options: { store: ResourceStore; clock: Clock }) {
    this.#secrets = new Collection('FunctionSecret', options);
  }

  /**
   * Deletes the secrets of an owner that was deleted, before anybody can make another one of its name. What it does not
   * reach, because the store fails meanwhile, the operator deletes: the owner is gone, and that is what was requested.
   * @returns what was removed.
   */
  async removeOf({ kind, metadata }: Resource<SecretOwner['kind']>): Promise<FunctionSecretResource[]> {
    const removed: FunctionSecretResource[] = [];
    try {
      for (const secret of await this.#secrets.list()) {
        const owner = namedOwner(secret.spec);
        if (owner?.kind !== kind || owner.name !== metadata.name) continue;
        await this.#secrets.remove(secret);
        removed.push(secret);
      }
    } catch (error) {
      if (!isDomainError(error)) throw error;
    }
    return removed;
  }
}

import { conflict, isDomainError, notFound, type DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { CREATED_AT, UPDATED_AT } from '@wherry/core/resources/meta.ts';
import { isId } from './shape.ts';

/** What the API calls an object of the kind. */
export const NOUNS = {
  Function: 'function',
  CodeSource: 'source',
  KeyGroup: 'key group',
  ApiKey: 'key',
  FunctionSecret: 'secret',
} as const;

/** Statuses are written beside specs, so losing a few attempts is normal; losing this many is not. */
const MAX_ROUNDS = 50;

/** The objects of one kind as the API has them: one that is being deleted is gone. */
export class Collection<K extends Kind & keyof typeof NOUNS> {
  readonly #store: ResourceStore;
  readonly #clock: Clock;
  readonly #kind: K;

  constructor(kind: K, { store, clock }: { store: ResourceStore; clock: Clock }) {
    this.#kind = kind;
    this.#store = store;
    this.#clock = clock;
  }

  async list(): Promise<Resource<K>[]> {
    const { items } = await this.#store.list(this.#kind);
    return items.filter(isThere);
  }

  async find(id: string): Promise<Resource<K> | undefined> {
    const found = isId(id) ? await this.#store.get(this.#kind, id) : undefined;
    return found !== undefined && isThere(found) ? found : undefined;
  }

  /** @throws DomainError `not_found`. */
  async get(id: string): Promise<Resource<K>> {
    const found = await this.find(id);
    if (found === undefined) throw this.#missing(id);
    return found;
  }

  /** As `changeResource`. @throws DomainError `not_found`, and what `change` throws. */
  async change(id: string, change: Parameters<typeof changeResource<K>>[2]): Promise<Resource<K>> {
    if (!isId(id)) throw this.#missing(id);
    const target = { kind: this.#kind, id, missing: () => this.#missing(id) };
    return changeResource({ store: this.#store, clock: this.#clock }, target, change);
  }

  /** Removes this very object, not a later one of its id. @throws DomainError `not_found`. */
  async remove({ metadata: { name, uid } }: Resource<K>): Promise<void> {
    try {
      await this.#store.delete(this.#kind, name, { uid });
    } catch (error) {
      if (isDomainError(error, 'conflict') || isDomainError(error, 'not_found')) throw this.#missing(name);
      throw error;
    }
  }

  #missing(id: string): DomainError {
    return notFound(`There is no ${NOUNS[this.#kind]} with the id ${id}.`);
  }
}

function isThere({ metadata }: Resource): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** Annotations of a new object. */
export function stampNew(clock: Clock): Record<string, string> {
  const now = String(Math.trunc(clock.now()));
  return { [CREATED_AT]: now, [UPDATED_AT]: now };
}

/**
 * Reads, changes and writes an object, and starts over whenever it was written in between.
 * @param change returns the new spec, or undefined to change nothing. It runs once per attempt.
 * @param missing the error when the object does not exist.
 * @throws DomainError `conflict` after too many rounds, and what `change` throws.
 */
export async function changeResource<K extends Kind>(
  { store, clock }: { store: ResourceStore; clock: Clock },
  target: { kind: K; id: string; missing: () => DomainError },
  change: (current: Resource<K>) => Resource<K>['spec'] | undefined | Promise<Resource<K>['spec'] | undefined>,
): Promise<Resource<K>> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const current = await store.get(target.kind, target.id);
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) throw target.missing();
    const spec = await change(current);
    if (spec === undefined || JSON.stringify(spec) === JSON.stringify(current.spec)) return current;
    const annotations = { ...current.metadata.annotations, [UPDATED_AT]: String(Math.trunc(clock.now())) };
    try {
      return await store.update({ ...current, metadata: { ...current.metadata, annotations }, spec });
    } catch (error) {
      if (isDomainError(error, 'not_found')) throw target.missing();
      if (!isDomainError(error, 'conflict')) throw error;
    }
  }
  throw conflict('The object keeps changing; try again.');
}

import { conflictingFunction } from '@wherry/core/resources/route-conflicts.ts';
import { conflict, isDomainError, notFound } from '@wherry/core/errors.ts';
import { functionNameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { FunctionSpec } from '@wherry/core/resources/function.ts';
import { displayName, type FunctionResource, type FunctionSecretResource } from '@wherry/core/resources/kinds.ts';
import { refused } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { Collection, stampNew } from '../object-access/collection.ts';
import type { ScopedSecrets } from '../secrets/scoped-secrets.ts';
import type { AwaitOperator } from './await-operator.ts';
import { specOf } from './function-mapping.ts';
import type { FunctionBody } from './function-schemas.ts';

interface FunctionServiceOptions {
  store: ResourceStore;
  clock: Clock;
  lock: KeyedLock;
  operator: AwaitOperator;
  scopedSecrets: ScopedSecrets;
}

/** Functions as resources: the rules over several objects are checked here, before anything is written. */
export class FunctionService {
  readonly #store: ResourceStore;
  readonly #clock: Clock;
  readonly #functions: Collection<'Function'>;
  readonly #groups: Collection<'KeyGroup'>;
  readonly #lock: KeyedLock;
  readonly #operator: AwaitOperator;
  readonly #scopedSecrets: ScopedSecrets;

  constructor(options: FunctionServiceOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#functions = new Collection('Function', options);
    this.#groups = new Collection('KeyGroup', options);
    this.#lock = options.lock;
    this.#operator = options.operator;
    this.#scopedSecrets = options.scopedSecrets;
  }

  list(): Promise<FunctionResource[]> {
    return this.#functions.list();
  }

  /** @throws DomainError `not_found`. */
  get(id: string): Promise<FunctionResource> {
    return this.#functions.get(id);
  }

  /**
   * @throws DomainError `conflict` naming the function that has the route; `validation_failed` naming a missing group.
   */
  async create(body: FunctionBody): Promise<FunctionResource> {
    const created = await this.#lock.run('functions', async () => {
      await this.#checkGroups(body.keys ?? []);
      const spec = specOf(body, { enabled: true, keyGroups: undefined, revision: undefined });
      await this.#checkRoute(spec);
      for (;;) {
        const metadata = { name: functionNameFor(body.name), annotations: stampNew(this.#clock) };
        try {
          return await this.#store.create({ kind: 'Function', metadata, spec });
        } catch (error) {
          // The random suffix is taken.
          if (!isDomainError(error, 'conflict')) throw error;
        }
      }
    });
    return this.#operator.observed(created);
  }

  /** Replaces the definition; `enabled` and `keys` left out and the pin stay. Errors as for create, and `not_found`. */
  replace(id: string, body: FunctionBody): Promise<FunctionResource> {
    return this.#change(id, async ({ spec: { enabled, keyGroups, revision } }) => {
      // Groups that stay are not checked: a function whose group was deleted with kubectl stays closed.
      await this.#checkGroups(body.keys ?? []);
      const spec = specOf(body, { enabled, keyGroups, revision });
      await this.#checkRoute(spec, id);
      return spec;
    });
  }

  setEnabled(id: string, enabled: boolean): Promise<FunctionResource> {
    return this.#change(id, async ({ spec }) => ({ ...spec, enabled }));
  }

  /**
   * Pins a revision that the function had, or with null lets it follow its source.
   * @throws DomainError `not_found` for a revision that is not kept.
   */
  rollback(id: string, revision: string | null): Promise<FunctionResource> {
    return this.#change(id, async ({ spec, status }) => {
      const { revision: _pin, ...rest } = spec;
      if (revision === null) return rest;
      const known = status.revisions?.some((kept) => kept.revision === revision) === true;
      if (!known) throw notFound(`The function has no revision ${revision}; the last ten good ones are kept.`);
      return { ...rest, revision };
    });
  }

  /** @returns what was removed: the function and its secrets. @throws DomainError `not_found`. */
  remove(id: string): Promise<(FunctionResource | FunctionSecretResource)[]> {
    return this.#lock.run('functions', async () => {
      const found = await this.get(id);
      await this.#functions.remove(found);
      return [found, ...(await this.#scopedSecrets.removeOf(found))];
    });
  }

  async #change(id: string, change: (current: FunctionResource) => Promise<FunctionSpec>): Promise<FunctionResource> {
    const changed = await this.#lock.run('functions', () => this.#functions.change(id, change));
    return this.#operator.observed(changed);
  }

  async #checkGroups(ids: readonly string[]): Promise<void> {
    for (const [index, id] of ids.entries()) {
      if ((await this.#groups.find(id)) !== undefined) continue;
      throw refused([{ path: `keys.${index}`, message: `there is no key group with the id ${id}` }]);
    }
  }

  async #checkRoute(spec: FunctionSpec, id?: string): Promise<void> {
    const candidate = { route: spec.route, methods: spec.methods, ...(id === undefined ? {} : { name: id }) };
    const other = conflictingFunction(candidate, await this.list());
    if (other === undefined) return;
    const shared = spec.methods.filter((method) => other.spec.methods.includes(method)).join(', ');
    throw conflict(
      `The route ${spec.route} is already taken for ${shared} by the function ${displayName(other)} (id ${other.metadata.name}).`,
    );
  }
}

import { conflict, DomainError, isDomainError, notFound } from '@wherry/core/errors.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { displayName, type KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { accessGroups, settingValue } from '@wherry/core/settings-definitions.ts';
import { requireSame } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { isId } from '../resources/shape.ts';
import { changeResource, stampNew } from '../resources/writes.ts';
import type { GroupCreate, GroupUpdate, GroupView } from './key-group-schemas.ts';

/** The group of the first start; the API never deletes it under this name. */
export const MANAGEMENT_GROUP = 'management';

/** Groups of API keys. */
export class KeyGroupService {
  readonly #store: ResourceStore;
  readonly #clock: Clock;
  readonly #lock: KeyedLock;

  constructor(options: { store: ResourceStore; clock: Clock; lock: KeyedLock }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#lock = options.lock;
  }

  async list(): Promise<GroupView[]> {
    const counts = await this.#keyCounts();
    return (await this.#all()).map((group) => groupView(group, counts.get(group.metadata.name) ?? 0));
  }

  async view(id: string): Promise<GroupView> {
    const group = await this.get(id);
    return groupView(group, (await this.#keyCounts()).get(id) ?? 0);
  }

  /** @throws DomainError `not_found`. */
  async get(id: string): Promise<KeyGroupResource> {
    const found = isId(id) ? await this.#store.get('KeyGroup', id) : undefined;
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) throw missingGroup(id);
    return found;
  }

  /** @throws DomainError `conflict` when the name is taken. */
  async create(body: GroupCreate): Promise<KeyGroupResource> {
    if ((await this.#all()).some((group) => displayName(group) === body.name)) throw taken(body.name);
    const metadata = { name: nameFor(body.name), annotations: stampNew(this.#clock) };
    const spec = { displayName: body.name, ...optional(body.description) };
    try {
      return await this.#store.create({ kind: 'KeyGroup', metadata, spec });
    } catch (error) {
      if (isDomainError(error, 'conflict')) throw taken(body.name);
      throw error;
    }
  }

  async update(id: string, body: GroupUpdate): Promise<KeyGroupResource> {
    await this.get(id);
    const target = { kind: 'KeyGroup', id, missing: () => missingGroup(id) } as const;
    return changeResource({ store: this.#store, clock: this.#clock }, target, (current) => {
      requireSame('name', body.name, displayName(current));
      if (body.description === undefined) return undefined;
      const { description: _old, ...rest } = current.spec;
      return { ...rest, ...optional(body.description) };
    });
  }

  /**
   * Deletes an empty group that nothing needs.
   * @returns what was removed.
   * @throws DomainError `forbidden` for `management`; `conflict` while it has keys, a function requires it, or it may
   *   use the management API.
   */
  remove(id: string): Promise<KeyGroupResource> {
    return this.#lock.run('keys', async () => {
      const group = await this.get(id);
      const name = displayName(group);
      if (name === MANAGEMENT_GROUP)
        throw new DomainError('forbidden', 'The group named management cannot be deleted.');
      await this.#refuseWhileNeeded(id, name);
      try {
        await this.#store.delete('KeyGroup', id, { uid: group.metadata.uid });
        return group;
      } catch (error) {
        if (isDomainError(error, 'conflict') || isDomainError(error, 'not_found')) throw missingGroup(id);
        throw error;
      }
    });
  }

  async #refuseWhileNeeded(id: string, name: string): Promise<void> {
    const keys = (await this.#keyCounts()).get(id) ?? 0;
    if (keys === 1) throw conflict(`The group ${name} still has 1 key: delete it first.`);
    if (keys > 1) throw conflict(`The group ${name} still has ${keys} keys: delete them first.`);
    const functions = await this.#store.list('Function');
    const user = functions.items.find((fn) => fn.spec.keyGroups?.includes(id) === true);
    if (user !== undefined)
      throw conflict(`The function ${displayName(user)} (id ${user.metadata.name}) requires the group ${name}.`);
    const settings = await this.#store.get('Settings', SETTINGS_NAME);
    if (accessGroups(settingValue(settings?.spec.values, 'api.access-groups')).includes(id)) {
      throw conflict(`The setting api.access-groups names the group ${name}: take it out first.`);
    }
  }

  async #all(): Promise<KeyGroupResource[]> {
    const { items } = await this.#store.list('KeyGroup');
    return items.filter((item) => item.metadata.deletionTimestamp === undefined);
  }

  async #keyCounts(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const { items } = await this.#store.list('ApiKey');
    for (const { spec } of items) counts.set(spec.keyGroup, (counts.get(spec.keyGroup) ?? 0) + 1);
    return counts;
  }
}

function groupView(group: KeyGroupResource, keyCount: number): GroupView {
  return { id: group.metadata.name, name: displayName(group), description: group.spec.description ?? null, keyCount };
}

function missingGroup(id: string): DomainError {
  return notFound(`There is no key group with the id ${id}.`);
}

function taken(name: string): DomainError {
  return conflict(`A key group named ${name} exists already.`);
}

function optional(description: string | null | undefined): { description?: string } {
  return description === null || description === undefined ? {} : { description };
}

import { conflict, DomainError, isDomainError } from '@wherry/core/errors.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { displayName, type FunctionSecretResource, type KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { accessGroups, settingValue } from '@wherry/core/settings-definitions.ts';
import { requireSame } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { Collection, stampNew } from '../object-access/collection.ts';
import type { ScopedSecrets } from '../secrets/scoped-secrets.ts';
import { changedLimits, limitView } from '../keys/limit-fields.ts';
import type { GroupCreate, GroupUpdate, GroupView } from './key-group-schemas.ts';

/** The group of the first start; the API never deletes it under this name. */
export const MANAGEMENT_GROUP = 'management';

/** Groups of API keys. */
export class KeyGroupService {
  readonly #store: ResourceStore;
  readonly #clock: Clock;
  readonly #groups: Collection<'KeyGroup'>;
  readonly #lock: KeyedLock;
  readonly #scopedSecrets: ScopedSecrets;

  constructor(options: { store: ResourceStore; clock: Clock; lock: KeyedLock; scopedSecrets: ScopedSecrets }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#groups = new Collection('KeyGroup', options);
    this.#lock = options.lock;
    this.#scopedSecrets = options.scopedSecrets;
  }

  async list(): Promise<GroupView[]> {
    const counts = await this.#keyCounts();
    return (await this.#groups.list()).map((group) => groupView(group, counts.get(group.metadata.name) ?? 0));
  }

  async view(id: string): Promise<GroupView> {
    const group = await this.get(id);
    return groupView(group, (await this.#keyCounts()).get(id) ?? 0);
  }

  /** @throws DomainError `not_found`. */
  get(id: string): Promise<KeyGroupResource> {
    return this.#groups.get(id);
  }

  /** @throws DomainError `conflict` when the name is taken. */
  async create(body: GroupCreate): Promise<KeyGroupResource> {
    if ((await this.#groups.list()).some((group) => displayName(group) === body.name)) throw taken(body.name);
    const metadata = { name: nameFor(body.name), annotations: stampNew(this.#clock) };
    const spec = { displayName: body.name, ...optional(body.description), ...changedLimits({}, body) };
    try {
      return await this.#store.create({ kind: 'KeyGroup', metadata, spec });
    } catch (error) {
      if (isDomainError(error, 'conflict')) throw taken(body.name);
      throw error;
    }
  }

  update(id: string, body: GroupUpdate): Promise<KeyGroupResource> {
    return this.#groups.change(id, (current) => {
      requireSame('name', body.name, displayName(current));
      const { description, rateLimit, dailyQuota, ...rest } = current.spec;
      const next = body.description === undefined ? description : body.description;
      return { ...rest, ...optional(next), ...changedLimits({ rateLimit, dailyQuota }, body) };
    });
  }

  /**
   * Deletes an empty group that nothing refers to.
   * @returns what was removed: the group and its secrets.
   * @throws DomainError `forbidden` for `management`; `conflict` while it has keys, a function requires it, or it may
   *   use the management API.
   */
  remove(id: string): Promise<(KeyGroupResource | FunctionSecretResource)[]> {
    return this.#lock.run('keys', async () => {
      const group = await this.get(id);
      const name = displayName(group);
      if (name === MANAGEMENT_GROUP)
        throw new DomainError('forbidden', 'The group named management cannot be deleted.');
      await this.#refuseWhileNeeded(id, name);
      await this.#groups.remove(group);
      return [group, ...(await this.#scopedSecrets.removeOf(group))];
    });
  }

  async #refuseWhileNeeded(id: string, name: string): Promise<void> {
    const keys = (await this.#keyCounts()).get(id) ?? 0;
    if (keys === 1) throw conflict(`The group ${name} still has a key: delete the key first.`);
    if (keys > 1) throw conflict(`The group ${name} still has ${keys} keys: delete the keys first.`);
    const functions = await this.#store.list('Function');
    const user = functions.items.find((fn) => fn.spec.keyGroups?.includes(id) === true);
    if (user !== undefined)
      throw conflict(`The function ${displayName(user)} (id ${user.metadata.name}) requires the group ${name}.`);
    const settings = await this.#store.get('Settings', SETTINGS_NAME);
    if (accessGroups(settingValue(settings?.spec.values, 'api.access-groups')).includes(id)) {
      throw conflict(`The setting api.access-groups names the group ${name}: remove the group from the setting first.`);
    }
  }

  async #keyCounts(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const { items } = await this.#store.list('ApiKey');
    for (const { spec } of items) counts.set(spec.keyGroup, (counts.get(spec.keyGroup) ?? 0) + 1);
    return counts;
  }
}

/** A group as the API shows it. */
export function groupView(group: KeyGroupResource, keyCount: number): GroupView {
  const { metadata, spec } = group;
  const description = spec.description ?? null;
  return { id: metadata.name, name: displayName(group), description, ...limitView(spec), keyCount };
}

function taken(name: string): DomainError {
  return conflict(`A key group named ${name} already exists.`);
}

function optional(description: string | null | undefined): { description?: string } {
  return description === null || description === undefined ? {} : { description };
}

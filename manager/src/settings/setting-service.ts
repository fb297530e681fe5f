import { conflict, DomainError, isDomainError, type ErrorDetail } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { SettingsResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import {
  accessGroups,
  SETTINGS,
  settingValue,
  USER_SETTINGS,
  type SettingDefinition,
  type SettingName,
} from '@wherry/core/settings-definitions.ts';
import { FIRST_START_DONE } from '../first-start/ensure-first-start.ts';
import { mayUse, type Principal } from '../http/principal.ts';
import { refused } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { changeResource, Collection, stampNew } from '../object-access/collection.ts';
import { compareCodePoints } from '../object-access/shape.ts';
import type { WriteBarrier } from '../object-access/write-barrier.ts';
import type { UserChange } from '../users/user-record.ts';
import type { UserStore } from '../users/user-store.ts';
import type { SettingView } from './setting-schemas.ts';

const NAMES = (Object.keys(SETTINGS) as SettingName[]).sort(compareCodePoints);
const ACCESS_GROUPS = 'api.access-groups';
const ACCESS_GROUPS_PATH = `settings.${ACCESS_GROUPS}`;

/** With these an editor could become an administrator, or have the audit records removed. */
const FOR_ADMINISTRATORS: readonly SettingName[] = [ACCESS_GROUPS, 'audit.retention-days'];

/** Values by name; null is the default. */
type Wanted = Record<string, string | null>;

interface SettingServiceOptions {
  store: ResourceStore;
  clock: Clock;
  lock: KeyedLock;
  barrier: WriteBarrier;
  users: UserStore;
}

/** The global settings, and those of the user who is signed in. */
export class SettingService {
  readonly #options: SettingServiceOptions;
  readonly #groups: Collection<'KeyGroup'>;

  constructor(options: SettingServiceOptions) {
    this.#options = options;
    this.#groups = new Collection('KeyGroup', options);
  }

  /** Every setting with its active value, by name; those of a user where one is signed in. */
  async list(principal: Principal | undefined): Promise<SettingView[]> {
    const global = settingViews(await this.#options.store.get('Settings', SETTINGS_NAME));
    return [...global, ...this.#ofUser(principal)].sort((a, b) => compareCodePoints(a.name, b.name));
  }

  #ofUser(principal: Principal | undefined): SettingView[] {
    if (principal?.type !== 'user') return [];
    const chosen = this.#options.users.settings(principal.id);
    return Object.entries(USER_SETTINGS).map(([name, definition]) => ({
      name,
      value: chosen[name] ?? definition.default,
      default: definition.default,
      scope: 'user',
    }));
  }

  /**
   * Sets all of the values or none; null is the default.
   * @throws DomainError `validation_failed` with a detail for each bad one, among them a list of the groups that may
   *   use the management API without the group of the calling key; `forbidden` when a key empties that list, the
   *   caller could undo neither; `forbidden` also for an editor who changes what is for administrators.
   */
  async update(wanted: Wanted, principal: Principal | undefined): Promise<void> {
    // With the deletion of groups: a group that is named here must not go meanwhile.
    await this.#options.lock.run('keys', async () => {
      const problems = Object.entries(wanted).flatMap(([name, value]) => problemOf(name, value, principal));
      if (problems.length > 0) throw refused(problems);
      await this.#requireAdministrator(wanted, principal);
      await this.#checkAccessGroups(wanted[ACCESS_GROUPS], principal);
      const [own, global] = divided(wanted);
      const undo = await this.#changeOwn(own, principal);
      if (Object.keys(global).length === 0) return;
      try {
        const written = (await this.#make(global)) ?? (await this.#change(global));
        await this.#options.barrier.seen(written);
      } catch (error) {
        await undo();
        throw error;
      }
    });
  }

  /** @returns how to bring the values before back. */
  async #changeOwn(own: Wanted, principal: Principal | undefined): Promise<() => Promise<void>> {
    const names = Object.keys(own);
    if (principal?.type !== 'user' || names.length === 0) return async () => undefined;
    const { users } = this.#options;
    const before = users.settings(principal.id);
    await users.write(...changesOf(principal.id, own));
    const old = Object.fromEntries(names.map((name) => [name, before[name] ?? null]));
    return () => users.write(...changesOf(principal.id, old));
  }

  #change(wanted: Wanted): Promise<SettingsResource> {
    const missing = (): DomainError => conflict('The Settings object is being deleted; try again.');
    return changeResource(this.#options, { kind: 'Settings', id: SETTINGS_NAME, missing }, ({ spec }) => ({
      values: changed(spec.values, wanted),
    }));
  }

  /**
   * With kubectl the object can be deleted. It is made again when there is something to keep in it.
   * @returns undefined: it is there
   */
  async #make(wanted: Wanted): Promise<SettingsResource | undefined> {
    const { store, clock } = this.#options;
    if ((await store.get('Settings', SETTINGS_NAME)) !== undefined) return undefined;
    try {
      const metadata = { name: SETTINGS_NAME, annotations: { ...stampNew(clock), ...FIRST_START_DONE } };
      return await store.create({ kind: 'Settings', metadata, spec: { values: changed({}, wanted) } });
    } catch (error) {
      if (isDomainError(error, 'conflict')) return undefined;
      throw error;
    }
  }

  /** What was read may be sent back. */
  async #requireAdministrator(wanted: Wanted, principal: Principal | undefined): Promise<void> {
    if (mayUse('administer', principal)) return;
    const settings = await this.#options.store.get('Settings', SETTINGS_NAME);
    const name = FOR_ADMINISTRATORS.find((one) => {
      const value = wanted[one] === null ? SETTINGS[one].default : wanted[one];
      return value !== undefined && value !== settingValue(settings?.spec.values, one);
    });
    if (name !== undefined)
      throw new DomainError('forbidden', `Only administrators and management keys may change ${name}.`);
  }

  async #checkAccessGroups(value: string | null | undefined, principal: Principal | undefined): Promise<void> {
    if (value === undefined) return;
    const groups = accessGroups(value ?? SETTINGS[ACCESS_GROUPS].default);
    for (const id of groups) await this.#requireGroup(id);
    refuseShutOut(groups, principal);
  }

  async #requireGroup(id: string): Promise<void> {
    if ((await this.#groups.find(id)) !== undefined) return;
    throw refused([{ path: ACCESS_GROUPS_PATH, message: `there is no key group with the id ${id}` }]);
  }
}

/** Every setting with its active value, by name. */
export function settingViews(settings: SettingsResource | undefined): SettingView[] {
  return NAMES.map((name) => ({
    name,
    value: settingValue(settings?.spec.values, name),
    default: SETTINGS[name].default,
    scope: 'global',
  }));
}

function refuseShutOut(groups: string[], principal: Principal | undefined): void {
  if (principal?.type === 'user') return;
  if (groups.length === 0) {
    throw new DomainError(
      'forbidden',
      `${ACCESS_GROUPS} can only be emptied by a signed-in user: no key could undo that.`,
    );
  }
  if (principal === undefined || groups.includes(principal.groupId)) return;
  const message =
    `must include ${principal.groupId}, the group of this request's key, which would lose access: ` +
    'add it, or make the change with a key of a group that the new value names';
  throw refused([{ path: ACCESS_GROUPS_PATH, message }]);
}

function problemOf(name: string, value: string | null, principal: Principal | undefined): ErrorDetail[] {
  const path = `settings.${name}`;
  const known: Record<string, SettingDefinition> = { ...SETTINGS, ...USER_SETTINGS };
  const definition = Object.hasOwn(known, name) ? known[name] : undefined;
  if (definition === undefined) return [{ path, message: 'is not a known setting' }];
  if (isOwn(name) && principal?.type !== 'user')
    return [{ path, message: 'is a user setting: it needs a signed-in user' }];
  const problem = value === null ? undefined : definition.check(value);
  return problem === undefined ? [] : [{ path, message: problem }];
}

/** Those of the user, and the others. */
function divided(wanted: Wanted): [own: Wanted, global: Wanted] {
  const entries = Object.entries(wanted);
  const of = (own: boolean): Wanted => Object.fromEntries(entries.filter(([name]) => isOwn(name) === own));
  return [of(true), of(false)];
}

function isOwn(name: string): boolean {
  return Object.hasOwn(USER_SETTINGS, name);
}

function changesOf(userId: string, wanted: Wanted): UserChange[] {
  return Object.entries(wanted).map(([name, value]) =>
    value === null ? { remove: 'setting', userId, name } : { put: 'setting', setting: { userId, name, value } },
  );
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

/** Only what differs from the default is kept, so that a new default applies wherever no value was chosen. */
function changed(values: Record<string, string>, wanted: Wanted): Record<string, string> {
  const all = Object.entries({ ...values, ...wanted });
  return Object.fromEntries(
    all.flatMap(([name, value]) =>
      value === null || !isSetting(name) || SETTINGS[name].default === value ? [] : [[name, value]],
    ),
  );
}

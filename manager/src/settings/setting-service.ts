import { conflict, DomainError, isDomainError, type ErrorDetail } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { SettingsResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { accessGroups, SETTINGS, settingValue, type SettingName } from '@wherry/core/settings-definitions.ts';
import { FIRST_START_DONE } from '../first-start/ensure-first-start.ts';
import type { Principal } from '../http/principal.ts';
import { refused } from '../http/validate.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { changeResource, Collection, stampNew } from '../object-access/collection.ts';
import { compareCodePoints } from '../object-access/shape.ts';
import type { WriteBarrier } from '../object-access/write-barrier.ts';
import type { SettingView } from './setting-schemas.ts';

const NAMES = (Object.keys(SETTINGS) as SettingName[]).sort(compareCodePoints);
const ACCESS_GROUPS = 'api.access-groups';
const ACCESS_GROUPS_PATH = `settings.${ACCESS_GROUPS}`;

/** Values by name; null is the default. */
type Wanted = Record<string, string | null>;

interface SettingServiceOptions {
  store: ResourceStore;
  clock: Clock;
  lock: KeyedLock;
  barrier: WriteBarrier;
}

/** The global settings. */
export class SettingService {
  readonly #options: SettingServiceOptions;
  readonly #groups: Collection<'KeyGroup'>;

  constructor(options: SettingServiceOptions) {
    this.#options = options;
    this.#groups = new Collection('KeyGroup', options);
  }

  /** Every setting with its active value, by name. */
  async list(): Promise<SettingView[]> {
    return settingViews(await this.#options.store.get('Settings', SETTINGS_NAME));
  }

  /**
   * Sets all of the values or none; null is the default.
   * @throws DomainError `validation_failed` with a detail for each bad one, among them a list of the groups that may
   *   use the management API without the group of the calling key; `forbidden` when a key empties that list. The
   *   caller could undo neither.
   */
  async update(wanted: Wanted, principal: Principal | undefined): Promise<void> {
    // With the deletion of groups: a group that is named here must not go meanwhile.
    await this.#options.lock.run('keys', async () => {
      const problems = Object.entries(wanted).flatMap(([name, value]) => problemOf(name, value));
      if (problems.length > 0) throw refused(problems);
      await this.#checkAccessGroups(wanted[ACCESS_GROUPS], principal);
      const written = (await this.#make(wanted)) ?? (await this.#change(wanted));
      await this.#options.barrier.seen(written);
    });
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

  async #checkAccessGroups(value: string | null | undefined, principal: Principal | undefined): Promise<void> {
    if (value === undefined) return;
    const groups = accessGroups(value ?? SETTINGS[ACCESS_GROUPS].default);
    for (const id of groups) await this.#requireGroup(id);
    refuseShutOut(groups, principal);
  }

  async #requireGroup(id: string): Promise<void> {
    if ((await this.#groups.find(id)) !== undefined) return;
    throw refused([{ path: ACCESS_GROUPS_PATH, message: `there is no key group ${id}` }]);
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
    `must name ${principal.groupId}, the group of the key of this request, which would lose access: ` +
    'add it, or make the change with a key of a group that the new value names';
  throw refused([{ path: ACCESS_GROUPS_PATH, message }]);
}

function problemOf(name: string, value: string | null): ErrorDetail[] {
  const path = `settings.${name}`;
  if (name.startsWith('ui.')) return [{ path, message: 'is a user setting: it needs a signed-in user' }];
  if (!isSetting(name)) return [{ path, message: 'is not a known setting' }];
  const problem = value === null ? undefined : SETTINGS[name].check(value);
  return problem === undefined ? [] : [{ path, message: problem }];
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

import { DomainError, isDomainError } from '@wherry/core/errors.ts';
import { generateKeyValue, keyValueSchema } from '@wherry/core/crypto/key-value.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import type { SettingsResource } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { accessGroups, settingValue } from '@wherry/core/settings-definitions.ts';
import { systemRecord, type AuditObject } from '../audit/audit-record.ts';
import type { AuditStore } from '../audit/audit-store.ts';
import { MANAGEMENT_GROUP } from '../key-groups/key-group-service.ts';
import { stampNew } from '../object-access/collection.ts';

/**
 * On the Settings object once the first start is done: objects that it created and that were deleted since do not come
 * back.
 */
const DONE = 'wherry.dev/first-start';
/** The same, for code that creates the object again after it was deleted. */
export const FIRST_START_DONE = { [DONE]: 'done' };
const KEY_NAME = 'bootstrap';

interface FirstStartOptions {
  store: ResourceStore;
  /** Records that the group and the key were created (M9). */
  audit: Pick<AuditStore, 'append'>;
  keyRing: KeyRing;
  clock: Clock;
  /** The value of `WHERRY_MANAGEMENT_KEY`, used on the first start alone. */
  managementKey?: string | undefined;
  /**
   * Creates the key again at any later start that finds no key with management access: otherwise nobody could use the
   * API.
   */
  whenNoneIsLeft?: boolean;
}

/**
 * On the first start with some data: the Settings object, the group `management` and in it the key `bootstrap`. The
 * mark is set last, so that a start that was interrupted is done again; the key then has a new value.
 * @returns the key's value on the first start, nothing on any other.
 * @throws DomainError `validation_failed` for a given value that is not a valid key value.
 */
export async function ensureFirstStart(
  options: FirstStartOptions,
): Promise<{ managementKey?: { value: string; generated: boolean } }> {
  const settings = (await options.store.get('Settings', SETTINGS_NAME)) ?? (await makeSettings(options));
  const isDone = settings.metadata.annotations?.[DONE] !== undefined;
  if (isDone && !(options.whenNoneIsLeft === true && (await isLockedOut(options, settings)))) return {};
  const value = options.managementKey ?? generateKeyValue();
  checkValue(value);
  await ensureGroup(options);
  const key = await ensureKey(options, value);
  await record(options, 'key.create', { kind: 'ApiKey', id: key, name: KEY_NAME });
  await markDone(options);
  return { managementKey: { value, generated: options.managementKey === undefined } };
}

/** Whether no key is in any of the groups with management access, `management` being one of them. */
async function isLockedOut({ store }: FirstStartOptions, settings: SettingsResource): Promise<boolean> {
  const groups = accessGroups(settingValue(settings.spec.values, 'api.access-groups'));
  if (!groups.includes(MANAGEMENT_GROUP)) return false;
  const { items } = await store.list('ApiKey');
  return !items.some(
    ({ metadata, spec }) => metadata.deletionTimestamp === undefined && groups.includes(spec.keyGroup),
  );
}

function checkValue(value: string): void {
  const checked = keyValueSchema.safeParse(value);
  if (checked.success) return;
  throw new DomainError(
    'validation_failed',
    `WHERRY_MANAGEMENT_KEY ${checked.error.issues[0]?.message ?? 'is not valid'}.`,
  );
}

/**
 * With kubectl the object can be deleted, and the mark with it. Keys with management access show that it existed: then
 * the first start is not done again, because that would bring back a key that was deleted.
 */
async function makeSettings({ store, clock }: FirstStartOptions): Promise<SettingsResource> {
  const { items } = await store.list('ApiKey');
  const mark = items.some(({ spec }) => spec.keyGroup === MANAGEMENT_GROUP) ? FIRST_START_DONE : {};
  return store.create({
    kind: 'Settings',
    metadata: { name: SETTINGS_NAME, annotations: { ...stampNew(clock), ...mark } },
    spec: { values: {} },
  });
}

async function record({ audit, clock }: FirstStartOptions, action: string, object: AuditObject): Promise<void> {
  await audit.append([systemRecord(clock.now(), { action, object, result: 'ok' })]);
}

async function ensureGroup(options: FirstStartOptions): Promise<void> {
  const { store, clock } = options;
  if ((await store.get('KeyGroup', MANAGEMENT_GROUP)) !== undefined) return;
  await store.create({
    kind: 'KeyGroup',
    metadata: { name: MANAGEMENT_GROUP, annotations: stampNew(clock) },
    spec: { displayName: MANAGEMENT_GROUP, description: 'Keys of this group may use the management API.' },
  });
  await record(options, 'key-group.create', { kind: 'KeyGroup', id: MANAGEMENT_GROUP, name: MANAGEMENT_GROUP });
}

/** A key that an unfinished first start left behind gets the value that is shown now. @returns its id. */
async function ensureKey({ store, clock, keyRing }: FirstStartOptions, value: string): Promise<string> {
  const name = nameFor(MANAGEMENT_GROUP, KEY_NAME);
  const owner = { kind: 'ApiKey', metadata: { namespace: store.namespace, name } } as const;
  const sealed = sealConfidential(keyRing, owner, 'spec.value', value);
  const found = await store.get('ApiKey', name);
  if (found !== undefined) {
    await store.update({ ...found, spec: { ...found.spec, value: sealed } });
    return name;
  }
  await store.create({
    kind: 'ApiKey',
    metadata: { name, annotations: stampNew(clock) },
    spec: {
      keyGroup: MANAGEMENT_GROUP,
      displayName: KEY_NAME,
      description: 'Created on the first start.',
      value: sealed,
      enabled: true,
    },
  });
  return name;
}

async function markDone({ store }: FirstStartOptions): Promise<void> {
  for (;;) {
    const settings = await store.get('Settings', SETTINGS_NAME);
    if (settings === undefined)
      throw new DomainError('internal_error', 'The Settings object was deleted during the first start.');
    const annotations = { ...settings.metadata.annotations, ...FIRST_START_DONE };
    try {
      await store.update({ ...settings, metadata: { ...settings.metadata, annotations } });
      return;
    } catch (error) {
      // The operator writes its status meanwhile.
      if (!isDomainError(error, 'conflict')) throw error;
    }
  }
}

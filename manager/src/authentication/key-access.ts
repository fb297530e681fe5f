import type { IncomingMessage } from 'node:http';
import { keyDigest, sameDigest } from '@wherry/core/crypto/key-digest.ts';
import type { RouterKey } from '@wherry/core/feed/messages.ts';
import { routerKeys } from '@wherry/core/confidential/usable-key.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { oldest } from '@wherry/core/resources/age.ts';
import { displayName } from '@wherry/core/resources/kinds.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { accessGroups, settingValue } from '@wherry/core/settings-definitions.ts';
import type { Informer } from '@wherry/service/informer.ts';
import type { AuditActor } from '../audit/audit-record.ts';
import type { Principal } from '../http/principal.ts';
import { followKeyValues, type KeyValuesOptions } from './key-values.ts';

interface KeyAccessOptions extends KeyValuesOptions {
  groups: Informer<'KeyGroup'>;
  settings: Informer<'Settings'>;
  clock: Clock;
}

/** Which keys there are, by their values' digests, and which of them may use the management API. */
export interface KeyAccess {
  /** The caller that a request's `X-API-Key` stands for; undefined when there is none or it gives no access. */
  authenticate: (request: IncomingMessage) => Principal | undefined;
  /** The owner of a key that gives no access, for the audit records; undefined where the request has no key. */
  claimantOf: (request: IncomingMessage) => AuditActor | undefined;
  /** The id of the key that has this value, the oldest of several, whether or not it is usable. */
  holderOf(value: string): string | undefined;
  /** Whether the key may use the management API, and no other one may: none that only has the value of another. */
  isLast(id: string): boolean;
  /** Whether the keys of a group may use the management API. */
  isAccessGroup(groupId: string): boolean;
  /** Stops following keys and Secrets. */
  stop(): void;
}

/**
 * Groups, settings, expiry and the enabled flag are read at each call, so that a change of any of them takes effect as
 * soon as its informer has seen it.
 */
export function createKeyAccess(options: KeyAccessOptions): KeyAccess {
  const { keys, digestKey } = options;
  const values = followKeyValues(options);
  const holderOf = (value: string): string | undefined => {
    const digest = keyDigest(digestKey, value);
    // One whose group is gone is nobody's holder, but its value is taken.
    return holder(digest, values.idsOf(digest), options)?.id ?? values.idsOf(digest)[0];
  };
  const mayManage = (id: string): boolean => {
    const digest = values.digestOf(id);
    if (digest === undefined || !isAccessGroup(keys.get(id)?.spec.keyGroup, options)) return false;
    const record = holder(digest, values.idsOf(digest), options);
    return record?.id === id && givesAccess(record, options);
  };

  return {
    stop: () => values.stop(),
    isAccessGroup: (groupId) => isAccessGroup(groupId, options),
    holderOf,
    isLast: (id) =>
      mayManage(id) && !keys.list().some(({ metadata }) => metadata.name !== id && mayManage(metadata.name)),
    claimantOf(request) {
      const value = shownKey(request);
      if (value === undefined) return undefined;
      const key = keys.get(holderOf(value) ?? '');
      return key === undefined ? UNKNOWN_KEY : { type: 'key', id: key.metadata.name, name: displayName(key) };
    },
    authenticate(request) {
      const value = shownKey(request);
      if (value === undefined) return undefined;
      const digest = keyDigest(digestKey, value);
      const record = holder(digest, values.idsOf(digest), options);
      if (record === undefined || !givesAccess(record, options)) return undefined;
      return { type: 'key', id: record.id, name: record.name, groupId: record.groupId, groupName: record.groupName };
    },
  };
}

const UNKNOWN_KEY: AuditActor = { type: 'key', id: null, name: '(unknown key)' };

function shownKey(request: IncomingMessage): string | undefined {
  const value = request.headers['x-api-key'];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Which of the keys with this digest has the value: the oldest, as on routers. One that is disabled or has expired keeps
 * it: that must give access again by no key but its own.
 */
function holder(digest: string, ids: readonly string[], options: KeyAccessOptions): RouterKey | undefined {
  const { keys, groups, reader, digestKey } = options;
  const claims = ids.flatMap((id) => {
    const key = keys.get(id);
    if (key === undefined) return [];
    const records = routerKeys(key, groups.get(key.spec.keyGroup), reader, digestKey);
    return records
      .filter((record) => sameDigest(record.digest, digest))
      .map((record) => ({ metadata: key.metadata, record }));
  });
  return oldest(claims)?.record;
}

function givesAccess({ groupId, expiresAt }: RouterKey, options: KeyAccessOptions): boolean {
  return isAccessGroup(groupId, options) && (expiresAt === null || expiresAt > options.clock.now());
}

function isAccessGroup(id: string | undefined, { settings }: KeyAccessOptions): boolean {
  const values = settings.get(SETTINGS_NAME)?.spec.values;
  return id !== undefined && accessGroups(settingValue(values, 'api.access-groups')).includes(id);
}

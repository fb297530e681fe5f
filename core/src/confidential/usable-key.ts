import type { KeyObject } from 'node:crypto';
import { keyDigest } from '../crypto/key-digest.ts';
import type { RouterKey } from '../feed/messages.ts';
import type { ConfidentialReader } from './confidential-reader.ts';
import { displayName, type ApiKeyResource, type KeyGroupResource } from '../resources/kinds.ts';

/**
 * A key as routers know it: by its digest, without its value.
 * @param group the KeyGroup that the key names.
 * @returns undefined for a key that is no longer one: it is being deleted, its group is gone, or its value cannot be
 *   read. An expired key is returned with its time, which routers compare with their own clocks at each call. A
 *   disabled key is returned as expired: it gives no access, but may be enabled again, so its value must reach no
 *   handler either (R6).
 */
export function routerKey(
  apiKey: ApiKeyResource,
  group: KeyGroupResource | undefined,
  reader: ConfidentialReader,
  digestKey: KeyObject,
): RouterKey | undefined {
  if (apiKey.metadata.deletionTimestamp !== undefined) return undefined;
  if (group?.metadata.name !== apiKey.spec.keyGroup || group.metadata.deletionTimestamp !== undefined) return undefined;
  const { value } = reader.read(apiKey, 'spec.value');
  if (value === undefined) return undefined;
  return {
    digest: keyDigest(digestKey, value),
    id: apiKey.metadata.name,
    name: displayName(apiKey),
    groupId: group.metadata.name,
    groupName: displayName(group),
    expiresAt: apiKey.spec.enabled ? expiryOf(apiKey) : 0,
  };
}

/**
 * When a key expires, in milliseconds since 1970; null for never. A time that cannot be parsed counts as past, so that
 * it never gives access.
 */
export function expiryOf({ spec }: ApiKeyResource): number | null {
  if (spec.expiresAt === undefined) return null;
  const milliseconds = Date.parse(spec.expiresAt);
  return Number.isNaN(milliseconds) ? 0 : milliseconds;
}

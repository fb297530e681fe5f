import type { KeyObject } from 'node:crypto';
import { keyDigest } from '../crypto/key-digest.ts';
import type { KeyLimit, RouterKey } from '../feed/messages.ts';
import type { ConfidentialReader } from './confidential-reader.ts';
import { displayName, type ApiKeyResource, type KeyGroupResource } from '../resources/kinds.ts';

/**
 * A key as routers know it: by the digests of its values, without the values. First the current value; then, also once
 * it has ended, the previous one.
 * @param group the KeyGroup that the key names.
 * @returns nothing for a key that is no longer one: it is being deleted, its group is gone, or its value cannot be
 *   read. An expired key is returned with its time, which routers compare with their own clocks at each call. A
 *   disabled key is returned as expired: it gives no access, but may be enabled again, so its value must reach no
 *   handler either (R6).
 */
export function routerKeys(
  apiKey: ApiKeyResource,
  group: KeyGroupResource | undefined,
  reader: ConfidentialReader,
  digestKey: KeyObject,
): RouterKey[] {
  if (apiKey.metadata.deletionTimestamp !== undefined) return [];
  if (group?.metadata.name !== apiKey.spec.keyGroup || group.metadata.deletionTimestamp !== undefined) return [];
  const { value } = reader.read(apiKey, 'spec.value');
  if (value === undefined) return [];
  const current: RouterKey = {
    digest: keyDigest(digestKey, value),
    id: apiKey.metadata.name,
    name: displayName(apiKey),
    groupId: group.metadata.name,
    groupName: displayName(group),
    expiresAt: apiKey.spec.enabled ? expiryOf(apiKey) : 0,
    ...limitsOf(apiKey, group),
  };
  const previous = previousKey(apiKey, current, reader, digestKey);
  return previous === undefined ? [current] : [current, previous];
}

function previousKey(
  apiKey: ApiKeyResource,
  current: RouterKey,
  reader: ConfidentialReader,
  digestKey: KeyObject,
): RouterKey | undefined {
  const end = previousValueEnd(apiKey);
  const value = end === undefined ? undefined : reader.read(apiKey, 'spec.previousValue').value;
  if (end === undefined || value === undefined) return undefined;
  const digest = keyDigest(digestKey, value);
  // A key that went back to its previous value has one value.
  if (digest === current.digest) return undefined;
  return { ...current, digest, expiresAt: Math.min(end, current.expiresAt ?? Infinity) };
}

/**
 * When a key expires, in milliseconds since 1970; null for never. A time that cannot be parsed counts as past, so that
 * it never gives access.
 */
export function expiryOf({ spec }: ApiKeyResource): number | null {
  return spec.expiresAt === undefined ? null : pastUnlessTime(spec.expiresAt);
}

/** When the previous value of a key ends, in milliseconds since 1970; undefined for a key without one. */
export function previousValueEnd({ spec }: ApiKeyResource): number | undefined {
  if (spec.previousValue === undefined) return undefined;
  return spec.previousValueExpiresAt === undefined ? 0 : pastUnlessTime(spec.previousValueExpiresAt);
}

function pastUnlessTime(time: string): number {
  const milliseconds = Date.parse(time);
  return Number.isNaN(milliseconds) ? 0 : milliseconds;
}

function limitsOf(apiKey: ApiKeyResource, group: KeyGroupResource): { limits?: KeyLimit[] } {
  const limits = [
    ...limitOf(`key/${apiKey.metadata.name}`, apiKey.spec),
    ...limitOf(`group/${group.metadata.name}`, group.spec),
  ];
  return limits.length === 0 ? {} : { limits };
}

function limitOf(
  holder: string,
  { rateLimit, dailyQuota }: ApiKeyResource['spec'] | KeyGroupResource['spec'],
): KeyLimit[] {
  if (rateLimit === undefined && dailyQuota === undefined) return [];
  const requestsPerSecond = rateLimit?.requestsPerSecond;
  return [
    {
      holder,
      ...(requestsPerSecond !== undefined && {
        rate: { requestsPerSecond, burst: rateLimit?.burst ?? requestsPerSecond },
      }),
      ...(dailyQuota !== undefined && { dailyQuota }),
    },
  ];
}

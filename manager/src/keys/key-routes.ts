import { previousValueEnd } from '@wherry/core/confidential/usable-key.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import type { OwnedKeyLedger } from '../key-ledger/open-key-ledger.ts';
import { displayName, type ApiKeyResource } from '@wherry/core/resources/kinds.ts';
import { routes, type Route } from '../http/endpoint.ts';
import type { KeyGroupService } from '../key-groups/key-group-service.ts';
import { actedOn, byName, isoOrNull, isoTime, SUCCESS, timesOf } from '../object-access/shape.ts';
import { keyEndpoints } from './key-endpoints.ts';
import type { KeyView } from './key-schemas.ts';
import { limitView } from './limit-fields.ts';
import type { KeyService } from './key-service.ts';

interface KeyRoutesOptions {
  keys: KeyService;
  groups: KeyGroupService;
  reader: ConfidentialReader;
  keyLedger: Pick<OwnedKeyLedger, 'lastUsedAt'>;
  clock: Pick<Clock, 'now'>;
}

export function keyRoutes({ keys, groups, reader, keyLedger, clock }: KeyRoutesOptions): Route[] {
  const view = (key: ApiKeyResource, groupName: string | undefined, includeValues: boolean): KeyView => ({
    ...keyView(key, groupName, { keyLedger, clock }),
    ...(includeValues ? valueOf(key, reader) : {}),
  });

  return routes(keyEndpoints, {
    list: async ({ query: { groupId, includeValues }, principal }) => {
      const names = new Map((await groups.list()).map((group) => [group.id, group.name]));
      const found = (await keys.list(groupId)).map((key) =>
        view(key, names.get(key.spec.keyGroup), includeValues && keys.mayHold(key.spec.keyGroup, principal)),
      );
      return {
        json: { keys: found.sort(byName) },
        objects: found.flatMap(({ id, name, value }) => (value === undefined ? [] : [{ id, name }])),
      };
    },
    create: async ({ body, principal }) => {
      const { key, value } = await keys.create(body, principal);
      return { json: { id: key.metadata.name, name: displayName(key), value }, objects: [actedOn(key)] };
    },
    get: async ({ params, query, principal }) => {
      const key = await keys.get(params.keyId);
      if (query.includeValues) keys.requireMayHold(key.spec.keyGroup, principal);
      const group = (await groups.list()).find(({ id }) => id === key.spec.keyGroup) ?? null;
      return { json: { key: view(key, group?.name, query.includeValues), group }, objects: [actedOn(key)] };
    },
    update: async ({ params, body, principal }) => ({
      json: SUCCESS,
      objects: [actedOn(await keys.update(params.keyId, body, principal))],
    }),
    rotate: async ({ params, body, principal }) => {
      const { key, value, previousValueExpiresAt } = await keys.rotate(params.keyId, body, principal);
      const json = { id: key.metadata.name, name: displayName(key), value, previousValueExpiresAt };
      return { json, objects: [actedOn(key)] };
    },
    remove: async ({ params, principal }) => ({
      json: SUCCESS,
      objects: (await keys.remove(params.keyId, principal)).map(actedOn),
    }),
  });
}

/** A key as the API shows it, without its value. */
export function keyView(
  key: ApiKeyResource,
  groupName: string | undefined,
  { keyLedger, clock }: Pick<KeyRoutesOptions, 'keyLedger' | 'clock'>,
): KeyView {
  const now = clock.now();
  const { spec, metadata } = key;
  return {
    id: metadata.name,
    name: displayName(key),
    description: spec.description ?? null,
    groupId: spec.keyGroup,
    groupName: groupName ?? spec.keyGroup,
    enabled: spec.enabled,
    expiresAt: isoOrNull(spec.expiresAt),
    ...limitView(spec),
    previousValueExpiresAt: (previousValueEnd(key) ?? 0) > now ? isoOrNull(spec.previousValueExpiresAt) : null,
    lastUsedAt: lastUse(key, keyLedger.lastUsedAt(metadata.name)),
    createdAt: timesOf(key).createdAt,
  };
}

/** A use before the key existed is one of an earlier key that had its id. */
function lastUse({ metadata }: ApiKeyResource, at: number | undefined): string | null {
  return at === undefined || at < Date.parse(metadata.creationTimestamp) ? null : isoTime(at);
}

/** A value that cannot be read is left out: the other keys of the list must still be readable. */
function valueOf(key: ApiKeyResource, reader: ConfidentialReader): { value?: string } {
  const { value } = reader.read(key, 'spec.value');
  return value === undefined ? {} : { value };
}

import type { ConfidentialReader } from '@wherry/core/resources/confidential-reader.ts';
import { displayName, type ApiKeyResource } from '@wherry/core/resources/kinds.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { routes, type Route } from '../http/endpoint.ts';
import type { Principal } from '../http/principal.ts';
import type { KeyGroupService } from '../key-groups/key-group-service.ts';
import { byName, isoOrNull, SUCCESS, timesOf } from '../resources/shape.ts';
import { keyEndpoints } from './key-endpoints.ts';
import type { KeyView } from './key-schemas.ts';
import type { KeyService } from './key-service.ts';

export interface KeyRoutesOptions {
  keys: KeyService;
  groups: KeyGroupService;
  reader: ConfidentialReader;
  audit: AuditLog;
}

export function keyRoutes({ keys, groups, reader, audit }: KeyRoutesOptions): Route[] {
  const view = (key: ApiKeyResource, groupName: string | undefined, includeValues: boolean): KeyView => ({
    ...keyView(key, groupName),
    ...(includeValues ? valueOf(key, reader) : {}),
  });
  const recordRead = (call: { principal: Principal | undefined; requestId: string }, keyId: string): void =>
    audit.record({ actor: call.principal, action: 'readKeyValue', object: { keyId }, result: 200, requestId: call.requestId });

  return routes(keyEndpoints, {
    list: async (call) => {
      const { groupId, includeValues } = call.query;
      const names = new Map((await groups.list()).map((group) => [group.id, group.name]));
      const found = (await keys.list(groupId)).map((key) => view(key, names.get(key.spec.keyGroup), includeValues));
      if (includeValues) for (const key of found) recordRead(call, key.id);
      return { json: { keys: found.sort(byName) } };
    },
    create: async ({ body }) => {
      const { key, value } = await keys.create(body);
      return { json: { id: key.metadata.name, name: displayName(key), value } };
    },
    get: async (call) => {
      const key = await keys.get(call.params.keyId);
      const group = (await groups.list()).find(({ id }) => id === key.spec.keyGroup) ?? null;
      if (call.query.includeValues) recordRead(call, key.metadata.name);
      return { json: { key: view(key, group?.name, call.query.includeValues), group } };
    },
    update: async ({ params, body }) => {
      await keys.update(params.keyId, body);
      return { json: SUCCESS };
    },
    remove: async ({ params }) => {
      await keys.remove(params.keyId);
      return { json: SUCCESS };
    },
  });
}

function keyView(key: ApiKeyResource, groupName: string | undefined): KeyView {
  const { spec, metadata } = key;
  return {
    id: metadata.name,
    name: displayName(key),
    description: spec.description ?? null,
    groupId: spec.keyGroup,
    groupName: groupName ?? spec.keyGroup,
    enabled: spec.enabled,
    expiresAt: isoOrNull(spec.expiresAt),
    lastUsedAt: null,
    createdAt: timesOf(key).createdAt,
  };
}

/** A value that cannot be read is left out: the other keys of the list must still be readable. */
function valueOf(key: ApiKeyResource, reader: ConfidentialReader): { value?: string } {
  const { value } = reader.read(key, 'spec.value');
  return value === undefined ? {} : { value };
}

import { displayName } from '@wherry/core/resources/kinds.ts';
import { routes, type Route } from '../http/endpoint.ts';
import { actedOn, byName, SUCCESS } from '../object-access/shape.ts';
import type { WriteBarrier } from '../object-access/write-barrier.ts';
import { keyGroupEndpoints } from './key-group-endpoints.ts';
import type { KeyGroupService } from './key-group-service.ts';

export function keyGroupRoutes(service: KeyGroupService, barrier: WriteBarrier): Route[] {
  return routes(keyGroupEndpoints, {
    list: async () => ({ json: { groups: (await service.list()).sort(byName) } }),
    create: async ({ body }) => {
      const group = await barrier.seen(await service.create(body));
      return { json: { id: group.metadata.name, name: displayName(group) }, objects: [actedOn(group)] };
    },
    get: async ({ params }) => ({ json: await service.view(params.groupId) }),
    update: async ({ params, body }) => {
      const group = await barrier.seen(await service.update(params.groupId, body));
      return { json: SUCCESS, objects: [actedOn(group)] };
    },
    remove: async ({ params }) => ({ json: SUCCESS, objects: (await service.remove(params.groupId)).map(actedOn) }),
  });
}

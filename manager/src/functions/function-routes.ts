import { routes, type Route } from '../http/endpoint.ts';
import { actedOn, byName } from '../object-access/shape.ts';
import { functionEndpoints } from './function-endpoints.ts';
import { functionView, revisionViews } from './function-mapping.ts';
import type { FunctionService } from './function-service.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';

export function functionRoutes(service: FunctionService, functionUrl: string): Route[] {
  const reply = (resource: FunctionResource) => ({ json: { function: functionView(resource, functionUrl) } });
  const changed = (resource: FunctionResource) => ({ ...reply(resource), objects: [actedOn(resource)] });
  return routes(functionEndpoints, {
    list: async () => {
      const functions = (await service.list()).map((resource) => functionView(resource, functionUrl));
      return { json: { functions: functions.sort(byName) } };
    },
    create: async ({ body }) => changed(await service.create(body)),
    get: async ({ params }) => reply(await service.get(params.id)),
    replace: async ({ params, body }) => changed(await service.replace(params.id, body)),
    remove: async ({ params }) => ({ objects: (await service.remove(params.id)).map(actedOn) }),
    enable: async ({ params }) => changed(await service.setEnabled(params.id, true)),
    disable: async ({ params }) => changed(await service.setEnabled(params.id, false)),
    revisions: async ({ params }) => ({ json: { revisions: revisionViews(await service.get(params.id)) } }),
    rollback: async ({ params, body }) => changed(await service.rollback(params.id, body.revision)),
  });
}

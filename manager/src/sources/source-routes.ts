import { routes, type Route } from '../http/endpoint.ts';
import { actedOn, byName, SUCCESS } from '../object-access/shape.ts';
import { sourceEndpoints } from './source-endpoints.ts';
import { sourceStatusView, sourceView } from './source-mapping.ts';
import { webhookRefused, type SourceService } from './source-service.ts';

export function sourceRoutes(service: SourceService): Route[] {
  return routes(sourceEndpoints, {
    list: async () => ({ json: { sources: (await service.list()).map(sourceView).sort(byName) } }),
    create: async ({ body }) => {
      const source = await service.create(body);
      return { json: sourceView(source), objects: [actedOn(source)] };
    },
    byName: async ({ params }) => ({ json: sourceView(await service.getByName(params.name)) }),
    get: async ({ params }) => ({ json: sourceView(await service.get(params.id)) }),
    update: async ({ params, body }) => {
      const source = await service.update(params.id, body);
      return { json: { ...sourceView(source), syncTriggered: false }, objects: [actedOn(source)] };
    },
    remove: async ({ params }) => ({ json: SUCCESS, objects: [actedOn(await service.remove(params.id))] }),
    status: async ({ params }) => ({ json: sourceStatusView(await service.get(params.id)) }),
    sync: async ({ params }) => service.sync(params.id),
    webhook: async () => Promise.reject(webhookRefused()),
  });
}

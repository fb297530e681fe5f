import { routes, type Route } from '../http/endpoint.ts';
import { byName, SUCCESS } from '../resources/shape.ts';
import { sourceEndpoints } from './source-endpoints.ts';
import { sourceStatusView, sourceView } from './source-mapping.ts';
import { webhookRefused, type SourceService } from './source-service.ts';

export function sourceRoutes(service: SourceService): Route[] {
  return routes(sourceEndpoints, {
    list: async () => ({ json: { sources: (await service.list()).map(sourceView).sort(byName) } }),
    create: async ({ body }) => ({ json: sourceView(await service.create(body)) }),
    byName: async ({ params }) => ({ json: sourceView(await service.getByName(params.name)) }),
    get: async ({ params }) => ({ json: sourceView(await service.get(params.id)) }),
    update: async ({ params, body }) => ({ json: { ...sourceView(await service.update(params.id, body)), syncTriggered: false } }),
    remove: async ({ params }) => {
      await service.remove(params.id);
      return { json: SUCCESS };
    },
    status: async ({ params }) => ({ json: sourceStatusView(await service.get(params.id)) }),
    sync: async ({ params }) => service.sync(params.id),
    webhook: async () => Promise.reject(webhookRefused()),
  });
}

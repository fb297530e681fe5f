import { routes, type Route } from '../http/endpoint.ts';
import { logEndpoints } from './log-endpoints.ts';
import type { LogService } from './log-service.ts';
import type { LogStreams } from './log-streams.ts';

export function logRoutes(service: LogService, streams: LogStreams): Route[] {
  return routes(logEndpoints, {
    query: async ({ query }) => ({ json: await service.page(query) }),
    stream: async ({ query, request }) => {
      await service.requireKnown(query.functionId);
      return { events: await streams.begin(query, request.headersDistinct['last-event-id']?.join()) };
    },
    remove: async ({ params: { functionId } }) => {
      const deleted = await service.remove(functionId);
      return { json: { data: { deleted, functionId } }, objects: [{ id: functionId }] };
    },
  });
}

import { routes, type Route } from '../http/endpoint.ts';
import { logEndpoints } from './log-endpoints.ts';
import type { LogService } from './log-service.ts';

export function logRoutes(service: LogService): Route[] {
  return routes(logEndpoints, { query: async ({ query }) => ({ json: await service.page(query) }) });
}

import { routes, type Route } from '../http/endpoint.ts';
import { metricEndpoints } from './metric-endpoints.ts';
import type { MetricService } from './metric-service.ts';

export function metricRoutes(service: MetricService): Route[] {
  return routes(metricEndpoints, { query: async ({ query }) => ({ json: await service.query(query) }) });
}

import { routes, type Route } from '../http/endpoint.ts';
import { openapiDocument } from './openapi-document.ts';
import { openapiEndpoints } from './openapi-endpoints.ts';

export function openapiRoutes(): Route[] {
  const document = openapiDocument();
  return routes(openapiEndpoints, { get: async () => ({ json: document }) });
}

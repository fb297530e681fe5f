import { routes, type Route } from '../http/endpoint.ts';
import { openapiDocument } from './openapi-document.ts';
import { openapiEndpoints } from './openapi-endpoints.ts';

/** @param serverName the setting `server.name`, as it is now. */
export function openapiRoutes(serverName: () => string): Route[] {
  const document = openapiDocument();
  return routes(openapiEndpoints, {
    get: async () => {
      const title = `${serverName()} management API`;
      return { json: { ...document, info: { ...document.info, title } } };
    },
  });
}

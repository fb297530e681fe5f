import type { ConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { routes, type Route } from '../http/endpoint.ts';
import { actedOn, byName, SUCCESS } from '../object-access/shape.ts';
import { secretEndpoints } from './secret-endpoints.ts';
import { secretView, secretWithValue } from './secret-mapping.ts';
import type { SecretService } from './secret-service.ts';

export function secretRoutes(service: SecretService, reader: ConfidentialReader): Route[] {
  return routes(secretEndpoints, {
    list: async ({ query: { includeValues, ...filters } }) => {
      const found = await service.list(filters);
      const secrets = found.map((secret) => (includeValues ? secretWithValue(secret, reader) : secretView(secret)));
      return { json: { secrets: secrets.sort(byName) }, objects: found.map(actedOn) };
    },
    create: async ({ body }) => {
      const secret = await service.create(body);
      const { id, name, scope } = secretView(secret);
      return { json: { id, name, scope }, objects: [actedOn(secret)] };
    },
    byName: async ({ params: { name }, query }) => {
      const secrets = (await service.listByName(name, query.scope)).map(secretView);
      return { json: { name, secrets: secrets.sort(byName) } };
    },
    get: async ({ params }) => ({ json: secretView(await service.get(params.id)) }),
    update: async ({ params, body }) => ({
      json: SUCCESS,
      objects: [actedOn(await service.update(params.id, body))],
    }),
    remove: async ({ params }) => ({ json: SUCCESS, objects: [actedOn(await service.remove(params.id))] }),
  });
}

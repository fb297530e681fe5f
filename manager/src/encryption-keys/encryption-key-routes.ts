import { routes, type Route } from '../http/endpoint.ts';
import { SUCCESS } from '../object-access/shape.ts';
import { encryptionKeyEndpoints } from './encryption-key-endpoints.ts';
import type { EncryptionKeyService } from './encryption-key-service.ts';
import { keyObject } from './rotation-job.ts';

export function encryptionKeyRoutes(service: EncryptionKeyService): Route[] {
  return routes(encryptionKeyEndpoints, {
    status: async () => ({ json: service.status() }),
    list: async () => ({ json: { keys: service.list() } }),
    async rotate({ request }) {
      const version = await service.begin();
      const objects = [keyObject(version)];
      if (prefersAsync(request.headers['prefer'])) {
        const message = `The rotation to encryption key version ${version} has begun.`;
        return {
          status: 202,
          headers: { 'Preference-Applied': 'respond-async' },
          json: { ...SUCCESS, message },
          objects,
        };
      }
      const values = await service.ended(version);
      const message = `Encryption key version ${version} is active, and all ${values} encrypted values use it.`;
      return { json: { ...SUCCESS, message }, objects };
    },
    async purge({ params }) {
      const version = await service.purge(params.version);
      return { json: SUCCESS, objects: [keyObject(version)] };
    },
  });
}

/** RFC 7240: several preferences may be in one header, with parameters and in any case. */
function prefersAsync(header: string | string[] | undefined): boolean {
  const preferences = [header ?? []].flat().flatMap((line) => line.split(','));
  return preferences.some((one) => /^\s*respond-async\s*(?:$|;)/i.test(one));
}

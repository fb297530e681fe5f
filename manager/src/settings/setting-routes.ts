import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { routes, type Route } from '../http/endpoint.ts';
import { SUCCESS } from '../object-access/shape.ts';
import { settingEndpoints } from './setting-endpoints.ts';
import type { SettingService } from './setting-service.ts';

export function settingRoutes(service: SettingService): Route[] {
  return routes(settingEndpoints, {
    list: async ({ principal }) => ({ json: { settings: await service.list(principal) } }),
    update: async ({ body, principal }) => {
      await service.update(body.settings, principal);
      const names = Object.keys(body.settings).sort();
      return { json: { ...SUCCESS, updated: names.length }, objects: [{ id: SETTINGS_NAME, name: names.join(', ') }] };
    },
  });
}

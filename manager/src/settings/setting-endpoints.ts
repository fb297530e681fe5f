import { endpoint } from '../http/endpoint.ts';
import { settingListSchema, settingsBodySchema, settingsUpdatedSchema } from './setting-schemas.ts';

const common = { tag: 'Settings', path: '/api/settings', status: 200 } as const;

export const settingEndpoints = {
  list: endpoint({
    ...common,
    permission: 'read',
    operationId: 'listSettings',
    method: 'get',
    summary: 'List all settings with their values and defaults',
    reply: { json: settingListSchema },
    errors: [],
  }),
  update: endpoint({
    ...common,
    permission: 'edit',
    operationId: 'updateSettings',
    method: 'put',
    summary: 'Change settings, all of them or none',
    audit: { action: 'settings.update', kind: 'Settings' },
    body: { kind: 'json', schema: settingsBodySchema },
    reply: { json: settingsUpdatedSchema },
    errors: ['forbidden', 'conflict'],
  }),
};

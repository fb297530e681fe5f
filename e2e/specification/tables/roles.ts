import { each, type Table } from '../row.ts';

const PASSWORD = 'correct horse battery';
const account = (email: string, more: object = {}): object => ({
  email,
  password: PASSWORD,
  passwordConfirmation: PASSWORD,
  ...more,
});

export const roles: Table = {
  title: 'Roles of users',
  // Users are no objects of Kubernetes.
  inCluster: false,
  rows: [
    ...each(['admin', 'editor', 'viewer'], (role) => ({
      says: `a user has a role: ${role}`,
      sends: ['POST', '/api/users', account(`${role}@roles.example`, { role })],
      answers: 201,
      body: { role },
      keeps: { [`${role}Id`]: 'id' },
    })),
    ...each(['admin', 'editor', 'viewer'], (role) => ({
      says: `Sign-in: ${role}`,
      sends: ['POST', '/api/auth/sign-in/email', { email: `${role}@roles.example`, password: PASSWORD }],
      as: 'nobody' as const,
      headers: { 'sec-fetch-site': 'same-origin' },
      answers: 200,
      keeps: { [role]: '@set-cookie' },
    })),
    {
      says: 'Users other than the administrator may do everything except manage users',
      sends: ['POST', '/api/key-groups', { name: 'of-an-editor' }],
      as: { session: 'editor' },
      answers: 201,
      keeps: { group: 'id' },
    },
    ...each(
      [
        ['POST', '/api/users', account('more@example.com')],
        ['PUT', '/api/users/<viewerId>', { password: PASSWORD, passwordConfirmation: PASSWORD }],
        ['PUT', '/api/users/<editorId>', { role: 'admin' }],
        ['DELETE', '/api/users/<viewerId>', undefined],
      ] as const,
      ([method, target, body]) => ({
        says: `Only the administrator (and management keys) may create, update or delete other users: ${method}`,
        sends: [method, target, body],
        as: { session: 'editor' },
        answers: 403,
        code: 'forbidden',
      }),
    ),
    ...each(
      [
        ['PUT', '/api/settings', { settings: { 'log.level': 'warn' } }],
        ['GET', '/api/secrets?includeValues=true', undefined],
        ['GET', '/api/keys?includeValues=true', undefined],
        ['POST', '/api/encryption-keys/rotation', undefined],
        ['GET', '/api/audit', undefined],
        ['GET', '/api/audit/export', undefined],
        ['DELETE', '/api/encryption-keys/1', undefined],
      ] as const,
      ([method, target, body]) => ({
        says: `A viewer reads everything except values of keys and secrets; other requests get 403: ${method} ${target}`,
        sends: [method, target, body],
        as: { session: 'viewer' },
        answers: 403,
        code: 'forbidden',
      }),
    ),
    {
      says: 'A viewer reads everything',
      sends: ['GET', '/api/secrets'],
      as: { session: 'viewer' },
      answers: 200,
    },
    ...each(
      [
        ['POST', '/api/keys', { groupId: 'management', name: 'mine' }],
        ['PUT', '/api/settings', { settings: { 'api.access-groups': 'management,<group>' } }],
        ['GET', '/api/audit', undefined],
      ] as const,
      ([method, target, body]) => ({
        says: `No editor becomes an administrator: ${method} ${target}`,
        sends: [method, target, body],
        as: { session: 'editor' },
        answers: 403,
        code: 'forbidden',
      }),
    ),
    {
      says: 'GET /api/keys: the key that may use the management API',
      sends: ['GET', '/api/keys?groupId=management'],
      as: { session: 'editor' },
      answers: 200,
      keeps: { managementKey: 'keys.0.id' },
    },
    ...each(
      [
        ['GET', '/api/keys/<managementKey>?includeValues=true', undefined],
        ['PUT', '/api/keys/<managementKey>', { description: 'mine' }],
        ['POST', '/api/keys/<managementKey>/rotate', {}],
        ['DELETE', '/api/keys/<managementKey>', undefined],
      ] as const,
      ([method, target, body]) => ({
        says: `No editor has a management key: ${method} ${target}`,
        sends: [method, target, body],
        as: { session: 'editor' },
        answers: 403,
        code: 'forbidden',
      }),
    ),
    {
      says: 'only a session may empty api.access-groups (a key: 403)',
      sends: ['PUT', '/api/settings', { settings: { 'api.access-groups': '' } }],
      answers: 403,
      code: 'forbidden',
    },
    {
      says: 'only a session may empty api.access-groups',
      sends: ['PUT', '/api/settings', { settings: { 'api.access-groups': '' } }],
      as: { session: 'admin' },
      answers: 200,
    },
    {
      says: 'no group is allowed to use the management API: its keys get 401',
      sends: ['GET', '/api/functions'],
      answers: 401,
      code: 'unauthorized',
      soon: true,
    },
    {
      says: 'a session still is',
      sends: ['PUT', '/api/settings', { settings: { 'api.access-groups': null } }],
      as: { session: 'admin' },
      answers: 200,
    },
    {
      says: 'the group management is again: its keys are accepted',
      sends: ['GET', '/api/functions'],
      answers: 200,
      soon: true,
    },
    {
      says: 'GET /api/settings: global, plus user settings if authenticated as a user',
      sends: ['GET', '/api/settings'],
      as: { session: 'viewer' },
      answers: 200,
      body: {
        settings: expect.arrayContaining([
          { name: 'ui.theme', value: 'system', default: 'system', scope: 'user' },
          { name: 'ui.time-zone', value: 'system', default: 'system', scope: 'user' },
          { name: 'server.name', value: 'Wherry', default: 'Wherry', scope: 'global' },
        ]),
      },
    },
    {
      says: 'User settings: ui.theme (system light dark), ui.time-zone',
      sends: ['PUT', '/api/settings', { settings: { 'ui.theme': 'dark', 'ui.time-zone': 'Europe/Berlin' } }],
      as: { session: 'editor' },
      answers: 200,
      whole: { success: true, updated: 2 },
    },
    ...each([{ 'ui.theme': 'pink' }, { 'ui.time-zone': 'Mars/North' }], (settings) => ({
      says: `User settings: not ${JSON.stringify(settings)}`,
      sends: ['PUT', '/api/settings', { settings }],
      as: { session: 'editor' },
      answers: 400,
      code: 'validation_failed',
    })),
    {
      says: 'User settings (session only; with a key 400)',
      sends: ['PUT', '/api/settings', { settings: { 'ui.theme': 'dark' } }],
      answers: 400,
      code: 'validation_failed',
    },
  ],
};

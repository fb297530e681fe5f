import { SETTINGS } from '../documented.ts';
import { each, type Table } from '../row.ts';

/** A good value that is no default, and bad ones. */
const VALUES: Record<string, readonly [good: string, ...bad: string[]]> = {
  'server.name': ['Ferry', '', 'x'.repeat(65)],
  'log.level': ['warn', 'trace', 'INFO', ''],
  'log.trimming.interval-seconds': ['86400', '0', '86401'],
  'log.trimming.max-per-function': ['100', '99', '100001'],
  'log.trimming.retention-seconds': ['0', '-1', '31536001'],
  'log.batching.max-batch-size': ['500', '0', '501'],
  'log.batching.max-delay-ms': ['10', '9', '5001'],
  'metrics.aggregation-interval-seconds': ['10', '9', '61', '1.5'],
  'metrics.retention-days': ['365', '0', '366', 'ten'],
  'encryption.key-rotation.interval-days': ['365', '0', '366'],
  'encryption.key-rotation.check-interval-seconds': ['86400', '3599', '86401'],
  'encryption.key-rotation.batch-size': ['1000', '9', '1001'],
  'encryption.key-rotation.batch-sleep-ms': ['0', '-1', '5001'],
  'audit.retention-days': ['3650', '0', '3651'],
  'api.access-groups': [' management ,', 'nobodys', 'Not An Id', ''],
  'files.max-size-bytes': ['1024', '1023', '524288001'],
};

const names = SETTINGS.map(({ name }) => name).sort();

export const settings: Table = {
  title: 'Settings',
  inCluster: true,
  rows: [
    {
      says: 'GET /api/settings → {settings: [{name, value, default, scope}]}; all values are strings, sorted by name',
      sends: ['GET', '/api/settings'],
      answers: 200,
      whole: {
        settings: SETTINGS.map((setting) => ({ ...setting, default: setting.value, scope: 'global' })).sort((a, b) =>
          a.name < b.name ? -1 : 1,
        ),
      },
      oneMachine: 'other suites have changed settings there',
    },
    {
      says: 'PUT {settings: {name: value}} → {success: true, updated: n}: several settings atomically',
      sends: ['PUT', '/api/settings', { settings: Object.fromEntries(names.map((name) => [name, VALUES[name]?.[0]])) }],
      answers: 200,
      whole: { success: true, updated: names.length },
    },
    {
      says: 'PUT: what it names is what GET then returns',
      sends: ['GET', '/api/settings'],
      answers: 200,
      body: { settings: names.map((name) => ({ name, value: VALUES[name]?.[0] })) },
    },
    {
      says: 'null clears: the default is back',
      sends: ['PUT', '/api/settings', { settings: Object.fromEntries(names.map((name) => [name, null])) }],
      answers: 200,
      whole: { success: true, updated: names.length },
    },
    {
      says: 'null clears: the default is what GET then returns',
      sends: ['GET', '/api/settings'],
      answers: 200,
      body: {
        settings: SETTINGS.map(({ name, value }) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1)),
      },
    },
    ...each(
      names.flatMap((name) => (VALUES[name] ?? []).slice(1).map((value) => [name, value] as const)),
      ([name, value]) => ({
        says: `a bad value → 400 with details: ${name} = ${JSON.stringify(value.slice(0, 20))}`,
        sends: ['PUT', '/api/settings', { settings: { [name]: value } }],
        ...(name === 'api.access-groups' && value === ''
          ? { answers: 403, code: 'forbidden' }
          : {
              answers: 400,
              code: 'validation_failed',
              body: { details: [{ path: `settings.${name}`, message: expect.any(String) }] },
            }),
      }),
    ),
    {
      says: 'The update is all or nothing: an unknown name or a bad value → 400 with details for each',
      sends: [
        'PUT',
        '/api/settings',
        { settings: { 'server.name': 'Half', 'log.level': 'loud', 'no.such-setting': '1' } },
      ],
      answers: 400,
      code: 'validation_failed',
      body: {
        details: [
          { path: 'settings.log.level', message: expect.any(String) },
          { path: 'settings.no.such-setting', message: 'is not a known setting' },
        ],
      },
    },
    {
      says: 'The update is all or nothing',
      sends: ['GET', '/api/settings'],
      answers: 200,
      hides: ['Half'],
    },
    ...each([{}, { settings: {} }, { settings: { 'log.level': 7 } }, { 'log.level': 'warn' }], (body) => ({
      says: `body {settings: {<setting_name>: <string_value>, ...}}: not ${JSON.stringify(body)}`,
      sends: ['PUT', '/api/settings', body],
      answers: 400,
      code: 'validation_failed',
    })),
    {
      says: 'POST /api/key-groups',
      sends: ['POST', '/api/key-groups', { name: 'others' }],
      answers: 201,
      keeps: { group: 'id' },
    },
    {
      says: 'api.access-groups: a key does not take its own access away',
      sends: ['PUT', '/api/settings', { settings: { 'api.access-groups': '<group>' } }],
      answers: 400,
      code: 'validation_failed',
      body: { details: [{ path: 'settings.api.access-groups', message: expect.stringContaining('management') }] },
    },
    {
      says: 'POST /api/keys: of a group that may not use the management API',
      sends: ['POST', '/api/keys', { groupId: '<group>', name: 'late', value: 'a-key-of-settings' }],
      answers: 201,
    },
    {
      says: 'a valid key of a group without management access: 401',
      sends: ['GET', '/api/settings'],
      as: { key: 'a-key-of-settings' },
      answers: 401,
      code: 'unauthorized',
    },
    {
      says: 'API Access Groups, naming the key groups allowed to use the management API',
      sends: ['PUT', '/api/settings', { settings: { 'api.access-groups': 'management,<group>' } }],
      answers: 200,
    },
    {
      says: 'Management keys can do everything a signed-in user can do',
      sends: ['GET', '/api/settings'],
      as: { key: 'a-key-of-settings' },
      answers: 200,
      soon: true,
    },
    {
      says: 'API Access Groups: its default, management',
      sends: ['PUT', '/api/settings', { settings: { 'api.access-groups': null } }],
      answers: 200,
    },
    {
      says: 'A change (settings) takes effect within 1 s',
      sends: ['GET', '/api/settings'],
      as: { key: 'a-key-of-settings' },
      answers: 401,
      code: 'unauthorized',
      soon: true,
    },
  ],
};

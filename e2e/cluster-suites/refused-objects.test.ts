import { definition, useObjects } from '../testing/use-objects.ts';

/*
 * kubectl and the REST API refuse the same objects, and name the same field.
 */

const suite = useObjects();
const { objects, rest } = suite;

describe('what one refuses, the other refuses', () => {
  const fn = definition('a/b.js', '/refused');
  const both = (fields: object): [string, object, string, object] => [
    'Function',
    { ...fn, ...fields },
    'POST /api/functions',
    { name: 'refused', ...fn, ...fields },
  ];
  const named = (kind: string, path: string, name: string): [string, object, string, object] => [
    kind,
    { ...(kind === 'CodeSource' && { type: 'manual' }), displayName: name },
    `POST ${path}`,
    { name, ...(kind === 'CodeSource' && { type: 'manual' }) },
  ];
  const setting = (name: string, to: string): [string, object, string, object] => [
    'Settings',
    { values: { [name]: to } },
    'PUT /api/settings',
    { settings: { [name]: to } },
  ];

  /** The field in the object, in the request, what each says of it; then how it is tried. */
  type Refused = [field: string, restField: string, said: string, restSaid: string, ...ReturnType<typeof both>];
  const same = (field: string, restField: string, said: string, tried: ReturnType<typeof both>): Refused => [
    field,
    restField,
    said,
    said,
    ...tried,
  ];

  const TABLE: Refused[] = [
    same('spec.route', 'route', 'must begin with /', both({ route: 'refused' })),
    same('spec.route', 'route', 'must not end with / (only / itself does)', both({ route: '/a/' })),
    same('spec.route', 'route', 'must name each parameter once', both({ route: '/:a/:a' })),
    same('spec.handler', 'handler', 'must be <source name>/<path in the source>', both({ handler: 'a.js' })),
    same('spec.handler', 'handler', 'must not contain empty, . or .. segments', both({ handler: 'a/../b.js' })),
    same(
      'spec.cors.credentials',
      'cors.credentials',
      'must not be true when origins contains *',
      both({ cors: { origins: ['*'], credentials: true } }),
    ),
    same(
      'spec.cors.origins[0]',
      'cors.origins.0',
      'must be * or scheme://host[:port]',
      both({ cors: { origins: ['a.example'] } }),
    ),
    same(
      'spec.cors.allowHeaders[0]',
      'cors.allowHeaders.0',
      'must be a header name',
      both({ cors: { origins: ['*'], allowHeaders: ['a b'] } }),
    ),
    same(
      'spec.scaling.maxReplicas',
      'scaling.maxReplicas',
      'must not be less than minReplicas',
      both({ scaling: { minReplicas: 3 } }),
    ),
    [
      'spec.methods[1]',
      'methods',
      'Duplicate value: "GET"',
      'must not repeat a method',
      ...both({ methods: ['GET', 'GET'] }),
    ],
    [
      'spec.methods[0]',
      'methods.0',
      'supported values: "GET", "POST"',
      'must be one of "GET", "POST"',
      ...both({ methods: ['FETCH'] }),
    ],
    ['spec.methods', 'methods', 'at least 1 items', 'must not be empty', ...both({ methods: [] })],
    [
      'spec.timeoutSeconds',
      'timeoutSeconds',
      'greater than or equal to 1',
      'must be at least 1',
      ...both({ timeoutSeconds: 0 }),
    ],
    [
      'spec.timeoutSeconds',
      'timeoutSeconds',
      'less than or equal to 3600',
      'must be at most 3600',
      ...both({ timeoutSeconds: 3601 }),
    ],
    [
      'spec.timeoutSeconds',
      'timeoutSeconds',
      'must be of type integer: "string"',
      'must be a number, not a string',
      ...both({ timeoutSeconds: '5' }),
    ],
    [
      'spec.resources.memoryMiB',
      'resources.memoryMiB',
      'greater than or equal to 64',
      'must be at least 64',
      ...both({ resources: { memoryMiB: 63 } }),
    ],
    [
      'spec.description',
      'description',
      'may not be more than 1024',
      '1024 characters',
      ...both({ description: 'x'.repeat(1025) }),
    ],
    ['spec.podSpec', 'podSpec', 'unknown field', 'is not a known field', ...both({ podSpec: {} })],
    ['spec.handler', 'handler', 'Required value', 'is required', ...both({ handler: undefined })],
    same(
      'spec.displayName',
      'name',
      'must be 1 to 64 lowercase letters, digits, dashes and underscores',
      named('KeyGroup', '/api/key-groups', 'No Good'),
    ),
    same(
      'spec.displayName',
      'name',
      'must not be code: a leading code/ is dropped from handlers',
      named('CodeSource', '/api/sources', 'code'),
    ),
    same(
      'spec.displayName',
      'name',
      'must be 1 to 64 letters, digits, dashes and underscores, and begin with a letter or digit',
      named('CodeSource', '/api/sources', 'a b'),
    ),
    same('spec.displayName', 'name', 'must not be blank', [
      'Function',
      { ...fn, displayName: ' ' },
      'POST /api/functions',
      { ...fn, name: ' ' },
    ]),
    same('spec.git', 'typeSettings.url', 'is only for type git', [
      'CodeSource',
      { type: 'manual', git: { url: 'https://a' } },
      'POST /api/sources',
      { name: 'a', type: 'manual', typeSettings: { url: 'https://a' } },
    ]),
    same(
      'spec.values.metrics.retention-days',
      'settings.metrics.retention-days',
      'must be a whole number from 1 to 365',
      setting('metrics.retention-days', '0'),
    ),
    same(
      'spec.values.api.access-groups',
      'settings.api.access-groups',
      'must be a comma-separated list of key-group ids',
      setting('api.access-groups', 'a;b'),
    ),
    [
      'spec.values.log.level',
      'settings.log.level',
      'supported values: "debug", "info"',
      'must be one of debug, info',
      ...setting('log.level', 'loud'),
    ],
  ];

  it.each(TABLE)('%s (REST: %s): %s', async (...row) => {
    const [field, restField, said, restSaid, kind, spec, request, body] = row;
    const [method = '', path = ''] = request.split(' ');
    const [byKubectl, byRest] = await Promise.all([
      objects.tryApply(kind, kind === 'Settings' ? 'wherry' : 'refused', spec),
      suite.api.request(method, path, body),
    ]);
    expect([byKubectl.code, byRest.status]).toEqual([1, 400]);
    const line = byKubectl.stderr.split('\n').find((each) => each.includes(said));
    expect({ line, all: byKubectl.stderr }).toEqual({ line: expect.stringContaining(field), all: expect.any(String) });
    expect(byRest.body.details).toContainEqual({ path: restField, message: expect.stringContaining(restSaid) });
  });

  it('the text of 64 emojis, of which no program may count the halves, is taken by both', async () => {
    const name = '💾'.repeat(64);
    expect((await objects.tryApply('Function', 'refused', { ...fn, displayName: name })).code).toBe(0);
    await rest('DELETE', `/api/functions/${(await rest('POST', '/api/functions', { ...fn, name })).function.id}`);
  });
});

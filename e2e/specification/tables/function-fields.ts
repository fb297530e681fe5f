import { each, type Table } from '../row.ts';

const DEFINITION = { name: 'shop', handler: 'functions/h.js', route: '/fields', methods: ['GET'], enabled: false };
/** What a body is made of that is wrong in one field: nothing of it is ever created. */
const invalid = (fields: object): object => ({ ...DEFINITION, route: '/fields/never', ...fields });

export const functionFields: Table = {
  title: 'Fields of functions',
  // Both stores take what this one schema lets through.
  inCluster: false,
  rows: [
    {
      says: 'POST /api/key-groups',
      sends: ['POST', '/api/key-groups', { name: 'customers' }],
      answers: 201,
      keeps: { group: 'id' },
    },
    {
      says: 'A new function is enabled unless enabled: false is sent',
      sends: ['POST', '/api/functions', DEFINITION],
      answers: 201,
      body: { function: { enabled: false, status: { ready: false, reason: 'Disabled' } } },
      keeps: { function: 'function.id' },
    },
    {
      says: 'handler: a leading code/ is accepted and dropped; the file need not exist yet',
      sends: ['PUT', '/api/functions/<function>', { ...DEFINITION, handler: 'code/functions/none.js' }],
      answers: 200,
      body: { function: { handler: 'functions/none.js' } },
    },
    ...each(
      [
        ...['/', '/a/:id/*', "/a-b._~!$&'()+,;=@%20", '/*', '/:A_1'].map((route) => ({ route })),
        { methods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] },
        { name: 'x'.repeat(64), timeoutSeconds: 3600, maxRequestBytes: 1_073_741_824, maxConcurrency: 10_000 },
        { timeoutSeconds: 1, maxConcurrency: 1, resources: { memoryMiB: 64 } },
        { scaling: { minReplicas: 1, maxReplicas: 100, targetConcurrency: 1000, idleSeconds: 86_400 } },
        { cors: { origins: ['*'] } },
        { cors: { origins: ['*', 'http://localhost:3000'], credentials: false, maxAge: 0, exposeHeaders: ['X-A'] } },
        { cors: { origins: ['https://a.example'], credentials: true, maxAge: 86_400 } },
      ],
      (fields) => ({
        says: `Within the bounds: ${JSON.stringify(fields).slice(0, 100)}`,
        sends: ['PUT', '/api/functions/<function>', { ...DEFINITION, ...fields }],
        answers: 200,
        body: { function: fields },
      }),
    ),
    {
      says: 'cors.maxAge: default 86400; credentials, allowHeaders and exposeHeaders are optional',
      sends: ['PUT', '/api/functions/<function>', { ...DEFINITION, cors: { origins: ['https://a.example'] } }],
      answers: 200,
      body: {
        function: {
          cors: {
            ...{ origins: ['https://a.example'], credentials: false, maxAge: 86_400 },
            ...{ allowHeaders: [], exposeHeaders: [] },
          },
        },
      },
    },
    {
      says: '`null` clears an optional field: cors, description, maxConcurrency, timeoutSeconds',
      sends: [
        'PUT',
        '/api/functions/<function>',
        { ...DEFINITION, cors: null, description: null, maxConcurrency: null, timeoutSeconds: null, scaling: null },
      ],
      answers: 200,
      body: { function: { cors: null, description: null, maxConcurrency: null, timeoutSeconds: 30 } },
    },
    ...each(['name', 'handler', 'route', 'methods'], (field) => ({
      says: `${field} is required`,
      sends: ['POST', '/api/functions', invalid({ [field]: undefined })],
      answers: 400,
      code: 'validation_failed',
      body: { details: [{ path: field, message: 'is required' }] },
    })),
    ...each(
      [
        { name: '' },
        { name: '   ' },
        { name: 'x'.repeat(65) },
        { handler: '' },
        { handler: 'h.js' },
        { handler: '/functions/h.js' },
        { handler: 'functions/../h.js' },
        { methods: [] },
        { methods: ['GET', 'GET'] },
        { methods: ['get'] },
        { methods: ['TRACE'] },
        { timeoutSeconds: 0 },
        { timeoutSeconds: 3601 },
        { timeoutSeconds: 1.5 },
        { maxRequestBytes: -1 },
        { maxRequestBytes: 1_073_741_825 },
        { maxConcurrency: 0 },
        { maxConcurrency: 10_001 },
        { scaling: { targetConcurrency: 0 } },
        { scaling: { targetConcurrency: 1001 } },
        { scaling: { idleSeconds: 9 } },
        { scaling: { idleSeconds: 86_401 } },
        { scaling: { minReplicas: 2, maxReplicas: 1 } },
        { resources: { memoryMiB: 63 } },
        { resources: { memoryMiB: 8193 } },
        { resources: { cpuMillis: 0 } },
        { debug: 'yes' },
        { enabled: 1 },
        { cors: { origins: [] } },
        { cors: {} },
        { cors: { origins: ['shop.example'] } },
        { cors: { origins: ['https://shop.example/path'] } },
        { cors: { origins: ['*'], credentials: true } },
        { cors: { origins: ['*'], allowHeaders: ['a b'] } },
        { status: { ready: true }, colour: 'red' },
      ],
      (fields) => ({
        says: `Bounds of the fields: not ${JSON.stringify(fields).slice(0, 80)}`,
        sends: ['POST', '/api/functions', invalid(fields)],
        answers: 400,
        code: 'validation_failed',
        body: {
          details: expect.arrayContaining([
            { path: expect.stringMatching(/^[a-z]+/), message: expect.stringMatching(/\S/) },
          ]),
        },
      }),
    ),
    ...each(
      [
        ['scaling.minReplicas', { scaling: { minReplicas: 101, maxReplicas: 100 } }, 'Instances of a function'],
        ['scaling.maxReplicas', { scaling: { maxReplicas: 101 } }, 'Upper bound of `scaling.minReplicas`'],
        [
          'cors.maxAge',
          { cors: { origins: ['*'], maxAge: 86_401 } },
          'Time for which browsers cache a preflight’s response'.replace('’', "'"),
        ],
        ['handler', { handler: `functions/${'x'.repeat(1080)}` }, 'Path of a handler, with its source'],
        ['route', { route: `/${'x'.repeat(512)}` }, 'Route'],
        ['keys', { keys: Array.from({ length: 65 }, (_, at) => `group-${at}`) }, 'Key groups of a function'],
      ] as const,
      ([path, fields, limit]) => ({
        says: `${limit}: 400, which names ${path}`,
        sends: ['POST', '/api/functions', invalid(fields)],
        answers: 400,
        code: 'validation_failed',
        body: { details: expect.arrayContaining([{ path, message: expect.any(String) }]) },
        limit,
      }),
    ),
    ...each(
      [
        ...['', 'a', '//a', '/a//b', '/a/', '/a/./b', '/a/..', '/a:b', '/a*', '/*/b', '/:1', '/:', '/:a-b'],
        ...['/:a/:a', '/a b', '/%zz', '/ä', '/(a|b)?', '/a#b', '/a%2Fb'],
      ],
      (route) => ({
        says: `route: literals, :params and a final *, no //, no dot segments: not ${JSON.stringify(route)}`,
        sends: ['POST', '/api/functions', invalid({ route })],
        answers: 400,
        code: 'validation_failed',
        body: { details: expect.arrayContaining([{ path: 'route', message: expect.any(String) }]) },
      }),
    ),
    {
      says: 'keys: every id must exist (otherwise 400, which names the missing one)',
      sends: ['POST', '/api/functions', invalid({ keys: ['<group>', 'nobodys'] })],
      answers: 400,
      code: 'validation_failed',
      body: { error: expect.stringContaining('nobodys') },
    },
    {
      says: 'cors.credentials must not be true when origins contains *, which the error names',
      sends: ['POST', '/api/functions', invalid({ cors: { origins: ['*'], credentials: true } })],
      answers: 400,
      code: 'validation_failed',
      body: { details: [{ path: 'cors.credentials', message: 'must not be true when origins contains *' }] },
    },
  ],
};

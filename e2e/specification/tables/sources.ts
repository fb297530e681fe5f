import { each, type Table } from '../row.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export const sources: Table = {
  title: 'Code sources',
  inCluster: true,
  rows: [
    {
      says: 'POST (201) → the bare object; manual: name, type, enabled',
      sends: ['POST', '/api/sources', { name: 'My_source-1', type: 'manual' }],
      answers: 201,
      whole: {
        id: expect.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
        ...{ name: 'My_source-1', type: 'manual', typeSettings: {}, syncSettings: {}, enabled: true, revision: null },
        ...{ lastSyncAt: null, lastSyncStartedAt: null, lastSyncError: null, createdAt: TIME, updatedAt: TIME },
      },
      keeps: { source: 'id' },
    },
    {
      says: 'GET /:id → the bare object',
      sends: ['GET', '/api/sources/<source>'],
      answers: 200,
      body: { id: '<source>', name: 'My_source-1', type: 'manual', enabled: true },
    },
    {
      says: 'GET /by-name/:name → the bare object',
      sends: ['GET', '/api/sources/by-name/My_source-1'],
      answers: 200,
      body: { id: '<source>' },
    },
    {
      says: 'by-name: an unknown name → 404',
      sends: ['GET', '/api/sources/by-name/my_source-1'],
      answers: 404,
      code: 'not_found',
    },
    {
      says: 'POST: a second one',
      sends: ['POST', '/api/sources', { name: 'Another', type: 'manual', enabled: true }],
      answers: 201,
      keeps: { another: 'id' },
    },
    {
      says: 'GET /api/sources → {sources: [...]}, sorted by name',
      sends: ['GET', '/api/sources'],
      answers: 200,
      body: { sources: [{ id: '<another>' }, { id: '<source>' }] },
    },
    {
      says: 'name: unique (409)',
      sends: ['POST', '/api/sources', { name: 'Another', type: 'manual' }],
      answers: 409,
      code: 'conflict',
    },
    ...each(['', '-a', '_a', 'a.b', 'a b', 'ä', 'a'.repeat(65), 'code'], (name) => ({
      says: `name: ^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$, and not code: not ${JSON.stringify(name)}`,
      sends: ['POST', '/api/sources', { name, type: 'manual' }],
      answers: 400,
      code: 'validation_failed',
      body: { details: expect.arrayContaining([{ path: 'name', message: expect.any(String) }]) },
    })),
    ...each(['name', 'type'], (field) => ({
      says: `Required: ${field}`,
      sends: ['POST', '/api/sources', { name: 'third', type: 'manual', [field]: undefined }],
      answers: 400,
      code: 'validation_failed',
      body: { details: [{ path: field, message: 'is required' }] },
    })),
    ...each(['inline', 'configMap', 'oci', 'svn'], (type) => ({
      says: `type: manual or git; others are created with kubectl only: not ${type}`,
      sends: ['POST', '/api/sources', { name: 'third', type }],
      answers: 400,
      code: 'validation_failed',
    })),
    ...each(
      [{ typeSettings: { url: 'https://a.example/b.git' } }, { syncSettings: { intervalSeconds: 60 } }],
      (fields) => ({
        says: `typeSettings and syncSettings are for git: not ${JSON.stringify(fields)}`,
        sends: ['POST', '/api/sources', { name: 'third', type: 'manual', ...fields }],
        answers: 400,
        code: 'validation_failed',
      }),
    ),
    {
      says: 'GET /:id/status → {isSyncable, isEditable, isSyncing, lastSyncAt, lastSyncStartedAt, lastSyncError, revision}',
      sends: ['GET', '/api/sources/<source>/status'],
      answers: 200,
      whole: {
        ...{ isSyncable: false, isEditable: true, isSyncing: false, revision: null },
        ...{ lastSyncAt: null, lastSyncStartedAt: null, lastSyncError: null },
      },
    },
    {
      says: 'POST /:id/sync: manual source → 400',
      sends: ['POST', '/api/sources/<source>/sync'],
      answers: 400,
      code: 'validation_failed',
    },
    {
      says: 'PUT body: any of typeSettings, syncSettings, enabled; PUT adds syncTriggered',
      sends: ['PUT', '/api/sources/<source>', { enabled: false }],
      answers: 200,
      body: { id: '<source>', enabled: false, syncTriggered: false },
    },
    {
      says: 'A source that is not enabled accepts no file writes (403): isEditable is false',
      sends: ['GET', '/api/sources/<source>/status'],
      answers: 200,
      body: { isSyncable: false, isEditable: false },
    },
    {
      says: 'A client can send back what it read',
      sends: [
        'PUT',
        '/api/sources/<source>',
        {
          ...{ id: 'other', name: 'My_source-1', type: 'manual', typeSettings: {}, syncSettings: {}, enabled: true },
          ...{ revision: null, lastSyncAt: null, lastSyncStartedAt: null, lastSyncError: null },
          ...{ createdAt: 'x', updatedAt: 'x', syncTriggered: false },
        },
      ],
      answers: 200,
      body: { id: '<source>', enabled: true },
    },
    ...each([{ name: 'Other' }, { type: 'git' }, {}, { colour: 'red' }, { enabled: 'no' }], (fields) => ({
      says: `A source’s name and type are fixed, {} sets nothing, an unknown field is rejected: ${JSON.stringify(fields)}`,
      sends: ['PUT', '/api/sources/<source>', fields],
      answers: 400,
      code: 'validation_failed',
    })),
    ...each(
      [
        ['<source>', {}],
        ['unknown', {}],
        ['<source>', { 'x-webhook-secret': 'guess' }],
        ['<source>', { 'x-gitlab-token': 'guess' }],
        ['<source>', { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }],
      ] as const,
      ([id, headers]) => ({
        says: `POST /:id/webhook: an unknown source, a manual source and no secret get one and the same 401: ${id} ${Object.keys(headers).join()}`,
        sends: ['POST', `/api/sources/${id}/webhook`, { ref: 'refs/heads/main' }],
        headers,
        as: 'nobody' as const,
        answers: 401,
        code: 'unauthorized',
        body: { error: 'The delivery has no valid signature.' },
      }),
    ),
    {
      says: 'PUT /api/sources/:id/files/:path',
      sends: ['PUT', '/api/sources/<source>/files/h.js', "export default (c) => c.text('still here');"],
      answers: 201,
    },
    {
      says: 'POST /api/functions: one whose handler uses the source',
      sends: [
        'POST',
        '/api/functions',
        { name: 'orphan', handler: 'My_source-1/h.js', route: '/sources/orphan', methods: ['GET'] },
      ],
      answers: 201,
      keeps: { function: 'function.id' },
    },
    {
      says: 'A function is called at /run/<function_route>',
      sends: ['GET', '/run/sources/orphan'],
      answers: 200,
      text: 'still here',
      soon: true,
    },
    {
      says: 'DELETE → {success: true}; deleting a source that a function’s handler uses is allowed',
      sends: ['DELETE', '/api/sources/<source>'],
      answers: 200,
      whole: { success: true },
    },
    {
      says: 'Deleting a source deletes its directory',
      sends: ['GET', '/api/sources/<source>/files/h.js'],
      answers: 404,
      code: 'not_found',
    },
    {
      says: 'The function’s status then reports SourceNotFound',
      sends: ['GET', '/api/functions/<function>'],
      answers: 200,
      body: { function: { status: { ready: true, reason: 'SourceNotFound' } } },
      soon: true,
    },
    {
      says: 'and its last good revision keeps serving until the function is disabled or deleted',
      sends: ['GET', '/run/sources/orphan'],
      answers: 200,
      text: 'still here',
    },
    { says: 'DELETE /api/functions/:id', sends: ['DELETE', '/api/functions/<function>'], answers: 204 },
    { says: 'DELETE /api/sources/:id', sends: ['DELETE', '/api/sources/<another>'], answers: 200 },
    {
      says: '404: an unknown id in a path',
      sends: ['GET', '/api/sources/<another>'],
      answers: 404,
      code: 'not_found',
    },
  ],
};

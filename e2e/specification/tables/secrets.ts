import { each, type Table } from '../row.ts';
import { ID, TIME } from '../patterns.ts';

export const secrets: Table = {
  title: 'Secrets',
  inCluster: true,
  rows: [
    {
      says: 'POST /api/key-groups',
      sends: ['POST', '/api/key-groups', { name: 'readers' }],
      answers: 201,
      keeps: { group: 'id' },
    },
    {
      says: 'POST /api/keys',
      sends: ['POST', '/api/keys', { groupId: '<group>', name: 'reader' }],
      answers: 201,
      keeps: { key: 'id' },
    },
    {
      says: 'POST /api/functions',
      sends: ['POST', '/api/functions', { name: 'reader', handler: 'none/h.js', route: '/secrets', methods: ['GET'] }],
      answers: 201,
      keeps: { function: 'function.id' },
    },
    {
      says: 'POST {name, value, scope, comment?, functionId|groupId|keyId} → 201 {id, name, scope}',
      sends: [
        'POST',
        '/api/secrets',
        { name: 'DATABASE_URL', value: 'the-global-value', scope: 'global', comment: 'Of all' },
      ],
      answers: 201,
      whole: { id: ID, name: 'DATABASE_URL', scope: 'global' },
      keeps: { global: 'id' },
    },
    ...each(
      [
        ['function', 'functionId', '<function>'],
        ['group', 'groupId', '<group>'],
        ['key', 'keyId', '<key>'],
      ] as const,
      ([scope, field, id]) => ({
        says: `scope: ${scope}; ${field} identifies its owner`,
        sends: ['POST', '/api/secrets', { name: 'DATABASE_URL', value: `the-${scope}-value`, scope, [field]: id }],
        answers: 201,
        body: { name: 'DATABASE_URL', scope },
        keeps: { [`of${scope}`]: 'id' },
      }),
    ),
    {
      says: 'the names scopeType and scopeRef are also accepted in requests',
      sends: [
        'POST',
        '/api/secrets',
        { name: 'ALIAS', value: 'the-alias-value', scopeType: 'group', scopeRef: '<group>' },
      ],
      answers: 201,
      keeps: { alias: 'id' },
    },
    {
      says: 'GET /:id → bare object, and scopeType and scopeRef are also returned; never a value',
      sends: ['GET', '/api/secrets/<alias>'],
      answers: 200,
      whole: {
        ...{ id: '<alias>', name: 'ALIAS', comment: null, scope: 'group', scopeType: 'group', scopeRef: '<group>' },
        ...{ functionId: null, groupId: '<group>', keyId: null, createdAt: TIME, updatedAt: TIME },
      },
    },
    {
      says: 'GET /api/secrets → {secrets: [...]}, values only with includeValues=true',
      sends: ['GET', '/api/secrets'],
      answers: 200,
      body: {
        secrets: expect.arrayContaining([
          expect.objectContaining({ id: '<global>', scope: 'global', comment: 'Of all', functionId: null }),
        ]),
      },
      hides: ['the-global-value', 'the-key-value'],
    },
    {
      says: 'includeValues: boolean, default false',
      sends: ['GET', '/api/secrets?includeValues=false'],
      answers: 200,
      hides: ['the-global-value', 'the-key-value'],
    },
    {
      says: 'includeValues: true includes decrypted values',
      sends: ['GET', '/api/secrets?scope=global&includeValues=true'],
      answers: 200,
      body: { secrets: [{ id: '<global>', value: 'the-global-value' }] },
    },
    {
      says: 'Each read of values writes an audit record',
      sends: ['GET', '/api/audit?action=secret.read-values&objectId=<global>&limit=1'],
      answers: 200,
      body: { data: { records: [{ object: { kind: 'FunctionSecret', id: '<global>' } }] } },
      hides: ['the-global-value'],
      soon: true,
    },
    ...each(
      [
        ['scope=function', '<offunction>'],
        ['functionId=<function>', '<offunction>'],
        ['scope=key', '<ofkey>'],
        ['keyId=<key>', '<ofkey>'],
        ['scope=group&groupId=<group>&includeValues=true', '<alias>'],
      ] as const,
      ([query, id]) => ({
        says: `List query parameters: ${query}`,
        sends: ['GET', `/api/secrets?${query}`],
        answers: 200,
        body: { secrets: expect.arrayContaining([expect.objectContaining({ id })]) },
        hides: ['<global>'],
      }),
    ),
    ...each(['scope=other', 'includeValues=yes'], (query) => ({
      says: `400: a field that fails validation: ${query}`,
      sends: ['GET', `/api/secrets?${query}`],
      answers: 400,
      code: 'validation_failed',
    })),
    ...each(['functionId', 'groupId', 'keyId'], (field) => ({
      says: `404: an unknown id in a list filter: ${field}`,
      sends: ['GET', `/api/secrets?${field}=nobodys`],
      answers: 404,
      code: 'not_found',
    })),
    {
      says: 'GET /by-name/:name → {name, secrets: [...]}: of all scopes, never a value',
      sends: ['GET', '/api/secrets/by-name/DATABASE_URL'],
      answers: 200,
      body: {
        name: 'DATABASE_URL',
        secrets: expect.arrayContaining(
          ['<global>', '<offunction>', '<ofgroup>', '<ofkey>'].map((id) => expect.objectContaining({ id })),
        ),
      },
      hides: ['the-global-value', 'the-key-value', 'the-group-value', 'the-function-value'],
    },
    {
      says: 'GET /by-name/:name?scope=',
      sends: ['GET', '/api/secrets/by-name/DATABASE_URL?scope=key'],
      answers: 200,
      body: { secrets: [{ id: '<ofkey>', keyId: '<key>', groupId: null }] },
    },
    {
      says: 'by-name: 404 when there are none',
      sends: ['GET', '/api/secrets/by-name/ALIAS?scope=key'],
      answers: 404,
      code: 'not_found',
    },
    {
      says: 'name: case-sensitive',
      sends: ['GET', '/api/secrets/by-name/database_url'],
      answers: 404,
      code: 'not_found',
    },
    {
      says: 'unique in its scope: 409',
      sends: ['POST', '/api/secrets', { name: 'DATABASE_URL', value: 'x', scope: 'global' }],
      answers: 409,
      code: 'conflict',
    },
    {
      says: 'unique in its scope: 409 for the same key',
      sends: ['POST', '/api/secrets', { name: 'DATABASE_URL', value: 'x', scope: 'key', keyId: '<key>' }],
      answers: 409,
      code: 'conflict',
    },
    ...each(['', 'with space', 'dot.ted', 'x'.repeat(129)], (name) => ({
      says: `name: ^[a-zA-Z0-9_-]{1,128}$: not ${JSON.stringify(name)}`,
      sends: ['POST', '/api/secrets', { name, value: 'x', scope: 'global' }],
      answers: 400,
      code: 'validation_failed',
      limit: 'Name of a secret',
    })),
    ...each(['', 'x'.repeat(65_537), 'ä'.repeat(32_769)], (value) => ({
      says: `value: 1 byte to 64 KiB: not ${Buffer.byteLength(value)} bytes`,
      sends: ['POST', '/api/secrets', { name: 'SIZE', value, scope: 'global' }],
      answers: 400,
      code: 'validation_failed',
      body: { details: expect.arrayContaining([{ path: 'value', message: expect.any(String) }]) },
      limit: 'Value of a secret, as UTF-8',
    })),
    {
      says: 'value: 1 byte to 64 KiB',
      sends: ['POST', '/api/secrets', { name: 'SIZE', value: 'x'.repeat(65_536), scope: 'global' }],
      answers: 201,
    },
    ...each(
      [
        { scope: 'function' },
        { scope: 'group', keyId: '<key>' },
        { scope: 'global', groupId: '<group>' },
        { scope: 'key', keyId: '<key>', groupId: '<group>' },
        {},
        { scope: 'planet' },
      ],
      (fields) => ({
        says: `The scope’s id is required; the other ids must be absent: not ${JSON.stringify(fields)}`,
        sends: ['POST', '/api/secrets', { name: 'SCOPED', value: 'x', ...fields }],
        answers: 400,
        code: 'validation_failed',
      }),
    ),
    {
      says: 'The scope’s id must exist; the error names it',
      sends: ['POST', '/api/secrets', { name: 'SCOPED', value: 'x', scope: 'key', keyId: 'nobodys' }],
      answers: 400,
      code: 'validation_failed',
      body: { error: expect.stringContaining('nobodys'), details: [{ path: 'keyId', message: expect.any(String) }] },
    },
    {
      says: 'PUT {value?, comment?} → {success: true}',
      sends: ['PUT', '/api/secrets/<global>', { value: 'the-next-value', comment: null }],
      answers: 200,
      whole: { success: true },
    },
    {
      says: 'PUT: what it names is what the list then returns',
      sends: ['GET', '/api/secrets?scope=global&includeValues=true'],
      answers: 200,
      body: {
        secrets: expect.arrayContaining([
          expect.objectContaining({ id: '<global>', value: 'the-next-value', comment: null }),
        ]),
      },
    },
    {
      says: 'PUT: at least one',
      sends: ['PUT', '/api/secrets/<global>', {}],
      answers: 400,
      code: 'validation_failed',
    },
    ...each([{ name: 'OTHER' }, { scope: 'key' }, { functionId: '<function>' }], (fields) => ({
      says: `A field that is fixed after creation: ${JSON.stringify(fields)}`,
      sends: ['PUT', '/api/secrets/<global>', { value: 'x', ...fields }],
      answers: 400,
      code: 'validation_failed',
    })),
    {
      says: 'A client can send back what it read',
      sends: [
        'PUT',
        '/api/secrets/<ofgroup>',
        {
          ...{ id: '<ofgroup>', name: 'DATABASE_URL', comment: 'again', scope: 'group', scopeType: 'group' },
          ...{ scopeRef: '<group>', functionId: null, groupId: '<group>', keyId: null },
          ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
        },
      ],
      answers: 200,
    },
    {
      says: 'DELETE → {success: true}',
      sends: ['DELETE', '/api/secrets/<global>'],
      answers: 200,
      whole: { success: true },
    },
    {
      says: '404: an unknown id in a path',
      sends: ['GET', '/api/secrets/<global>'],
      answers: 404,
      code: 'not_found',
    },
    { says: 'DELETE /api/keys/:keyId', sends: ['DELETE', '/api/keys/<key>'], answers: 200 },
    {
      says: 'Deleting a key deletes its scoped secrets',
      sends: ['GET', '/api/secrets/<ofkey>'],
      answers: 404,
      code: 'not_found',
    },
    { says: 'DELETE /api/key-groups/:groupId', sends: ['DELETE', '/api/key-groups/<group>'], answers: 200 },
    {
      says: 'Deleting a group deletes its scoped secrets',
      sends: ['GET', '/api/secrets/<ofgroup>'],
      answers: 404,
      code: 'not_found',
    },
    { says: 'DELETE /api/functions/:id', sends: ['DELETE', '/api/functions/<function>'], answers: 204 },
    {
      says: 'Deleting a function deletes its scoped secrets',
      sends: ['GET', '/api/secrets/<offunction>'],
      answers: 404,
      code: 'not_found',
    },
  ],
};

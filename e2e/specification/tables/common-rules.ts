import { OPERATIONS, type Operation } from '../documented.ts';
import { each, type Row, type Table } from '../row.ts';
import { SECONDS } from '../patterns.ts';

/** An operation's path with ids that nothing has. */
const targetOf = ({ path }: Pick<Operation, 'path'>): string => path.replaceAll(/\{\w+\}/g, 'unknown');
const bodyOf = ({ bodyTypes }: Operation): object | undefined =>
  bodyTypes.includes('application/json') ? {} : undefined;

const guarded = OPERATIONS.filter(({ isPublic }) => !isPublic);
const withId = guarded.filter(({ path, statuses }) => path.includes('{') && statuses.includes(404));
/** Of the others, a session is more than a key. */
const forKeys = guarded.filter(({ path }) => !path.startsWith('/api/auth/'));
const takingJson = forKeys.filter(({ bodyTypes }) => bodyTypes.join() === 'application/json');

/** There is a first user, so that this one is at no path. */
const changes = OPERATIONS.filter(({ method, id }) => method !== 'GET' && id !== 'setUp');

const ADMIN = { email: 'rules@example.com', password: 'correct horse battery' };
const JSON_TYPE = { 'content-type': 'application/json' };
/** Invalid keys are throttled by address. */
const GUESSER = '127.0.0.8';

const methodsOf = Map.groupBy(OPERATIONS, ({ path }) => path);

function wrongMethod([path, operations]: [string, Operation[]]): Row {
  const methods = operations.map(({ method }) => method);
  return {
    says: '405 with Allow: a known path with the wrong method',
    sends: ['PATCH', targetOf({ path })],
    answers: 405,
    code: 'method_not_allowed',
    with: { allow: [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ') },
  };
}

/** Bodies that are good, of the operations that need one. */
const BODIES: Record<string, object | string> = {
  replaceFunction: { name: 'x', handler: 'x/x.js', route: '/x', methods: ['GET'] },
  rollbackFunction: { revision: null },
  updateSource: { enabled: true },
  putFile: 'x',
  createFile: 'x',
  putTree: 'x',
  addToTree: 'x',
  updateKeyGroup: { description: null },
  updateKey: { enabled: true },
  updateSecret: { comment: null },
  updateUser: { name: 'x' },
};

/** What holds for every operation of the management API: rows made of the OpenAPI document. */
export const commonRules: Table = {
  title: 'Common rules',
  inCluster: false,
  rows: [
    ...each(guarded, (operation) => ({
      says: '401: no credentials',
      sends: [operation.method, targetOf(operation), bodyOf(operation)],
      as: 'nobody' as const,
      answers: 401,
      ...(operation.id !== 'getDocs' && { code: 'unauthorized' }),
    })),
    ...each(withId, (operation) => ({
      says: '404: an unknown id in a path',
      sends: [operation.method, targetOf(operation), BODIES[operation.id]],
      ...(operation.path.endsWith('/tree') && { headers: { 'content-type': 'application/gzip' } }),
      answers: 404,
      code: 'not_found',
    })),
    ...each(forKeys, (operation) => ({
      says: '400: an unknown query parameter, which the error names',
      sends: [operation.method, `${targetOf(operation)}?colour=red`, bodyOf(operation)],
      answers: 400,
      code: 'validation_failed',
      body: { details: expect.arrayContaining([{ path: 'colour', message: 'is not a known query parameter' }]) },
    })),
    {
      says: 'POST /api/users',
      sends: ['POST', '/api/users', { ...ADMIN, passwordConfirmation: ADMIN.password, role: 'admin' }],
      answers: 201,
    },
    {
      says: 'Sign-in',
      sends: ['POST', '/api/auth/sign-in/email', ADMIN],
      as: 'nobody',
      headers: { 'sec-fetch-site': 'same-origin' },
      answers: 200,
      keeps: { session: '@set-cookie' },
    },
    ...each(changes, (operation) => ({
      says: 'State-changing requests that are authenticated by a cookie must be same-origin (otherwise 403)',
      sends: [operation.method, targetOf(operation), bodyOf(operation)],
      as: { session: 'session' },
      headers: { 'sec-fetch-site': 'cross-site' },
      answers: 403,
      code: 'forbidden',
    })),
    ...each(takingJson, ({ method, ...operation }) => [
      {
        says: '400: malformed JSON',
        sends: [method, targetOf(operation), '{"name":'],
        headers: JSON_TYPE,
        answers: 400,
        code: 'validation_failed',
      },
      {
        says: 'The keys __proto__, constructor and prototype are rejected',
        sends: [method, targetOf(operation), '{"__proto__":{"name":"x"}}'],
        headers: JSON_TYPE,
        answers: 400,
        code: 'validation_failed',
      },
      {
        says: '400: a JSON body of more than 32 levels',
        sends: [method, targetOf(operation), '['.repeat(33) + ']'.repeat(33)],
        headers: JSON_TYPE,
        answers: 400,
        code: 'validation_failed',
        limit: 'Levels of a JSON body',
      },
      {
        says: '413: too large',
        sends: [method, targetOf(operation), ''],
        headers: { ...JSON_TYPE, 'content-length': '1048577' },
        answers: 413,
        code: 'too_large',
        limit: 'JSON body',
      },
      {
        says: '415: wrong content type',
        sends: [method, targetOf(operation), 'name=x'],
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        answers: 415,
        code: 'unsupported_media_type',
      },
    ]),
    ...each(
      [...methodsOf].filter(([path]) => !path.startsWith('/api/auth/') && path !== '/web/setup'),
      wrongMethod,
    ),
    ...each(['/api', '/api/', '/api/nothing', '/api/functions/', '/API/functions', '/nothing'], (target) => ({
      says: `404: an unknown path: ${target}`,
      sends: ['GET', target],
      answers: 404,
      code: 'not_found',
    })),
    ...each(['constructor', 'prototype'], (key) => ({
      says: `The keys __proto__, constructor and prototype are rejected: ${key}, inside a field too`,
      sends: ['POST', '/api/functions', `{"cors":{"${key}":{}}}`],
      headers: JSON_TYPE,
      answers: 400,
      code: 'validation_failed',
      body: { details: [{ path: `cors.${key}`, message: expect.any(String) }] },
    })),
    { says: 'HEAD: what GET answers, without the body', sends: ['HEAD', '/api/functions'], answers: 200, text: '' },
    {
      says: 'without credentials, 401 comes first',
      sends: ['GET', '/api/nothing'],
      as: 'nobody',
      answers: 401,
      code: 'unauthorized',
    },
    {
      says: 'No management path serves functions',
      sends: ['GET', '/api/../run/x'],
      answers: 404,
      code: 'not_found',
    },
    {
      says: 'Every response carries X-Request-Id, a UUID; the value of a peer that is no trusted proxy is not kept',
      sends: ['GET', '/api/functions'],
      headers: { 'x-request-id': '0b19119b-01c4-47ba-ab69-621fcea74b4d' },
      answers: 200,
      with: { 'x-request-id': expect.not.stringContaining('0b19119b-01c4-47ba-ab69-621fcea74b4d') },
    },
    {
      says: 'GET /api/openapi.json serves an OpenAPI 3.1 document, which covers every route',
      sends: ['GET', '/api/openapi.json'],
      answers: 200,
      body: {
        openapi: expect.stringMatching(/^3\.1\./),
        paths: Object.fromEntries(
          [...methodsOf].map(([path, operations]) => [
            path,
            Object.fromEntries(operations.map(({ id, method }) => [method.toLowerCase(), { operationId: id }])),
          ]),
        ),
      },
    },
    {
      says: '/api/docs shows it as a page',
      sends: ['GET', '/api/docs'],
      answers: 200,
      with: { 'content-type': expect.stringContaining('text/html') },
    },
    {
      says: 'a script of the page',
      sends: ['GET', '/api/docs/api-docs.js'],
      as: 'nobody',
      answers: 200,
      keeps: { etag: '@etag' },
    },
    {
      says: 'a script of the page: not changed since If-None-Match',
      sends: ['GET', '/api/docs/api-docs.js'],
      headers: { 'if-none-match': '<etag>' },
      as: 'nobody',
      answers: 304,
    },
    {
      says: '400: an unknown query parameter, which the error names',
      sends: ['GET', '/api/docs/api-docs.js?colour=red'],
      as: 'nobody',
      answers: 400,
      code: 'validation_failed',
    },
    {
      says: 'a bad escape, without credentials: 401 comes first',
      sends: ['GET', '/api/docs/%zz'],
      as: 'nobody',
      answers: 401,
      code: 'unauthorized',
    },
    ...each(['unknown', '..%2Fmain.ts'], (file) => ({
      says: `404: no file of the page: ${file}`,
      sends: ['GET', `/api/docs/${file}`],
      answers: 404,
      code: 'not_found',
    })),
    ...each(Array.from({ length: 20 }), () => ({
      says: 'invalid keys of one address: 20 in a minute get 401 …',
      sends: ['GET', '/api/functions'],
      as: { key: 'a-key-that-nobody-has' },
      from: GUESSER,
      answers: 401,
      code: 'unauthorized',
    })),
    ...each(
      [...guarded.map((one) => [one.method, targetOf(one), bodyOf(one)] as const), ['GET', '/api/docs/%zz'] as const],
      (sends) => ({
        says: '… further ones 429 with Retry-After: throttled',
        sends,
        as: { key: 'a-key-that-nobody-has' },
        from: GUESSER,
        answers: 429,
        code: 'throttled',
        with: { 'retry-after': SECONDS },
        limit: 'Invalid keys of one address',
      }),
    ),
    {
      says: 'valid keys are not affected',
      sends: ['GET', '/api/functions'],
      from: GUESSER,
      answers: 200,
    },
  ],
};

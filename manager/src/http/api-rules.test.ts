import supertest from 'supertest';
import { DomainError } from '@wherry/core/errors.ts';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const FUNCTION = { name: 'hello', handler: 'app/hello.ts', route: '/hello', methods: ['GET'] };

describe('the common rules of the API', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);

  beforeAll(async () => {
    manager = await startTestManager();
  });
  afterAll(() => manager.stop());

  it.each([
    ['an unknown path', '/api/nothing', 404, 'not_found'],
    ['the bare prefix', '/api', 404, 'not_found'],
    ['a trailing slash', '/api/functions/', 404, 'not_found'],
    ['another case', '/API/functions', 404, 'not_found'],
    ['the web pages, so far', '/web/', 404, 'not_found'],
    ['an id that can be none', '/api/functions/No_Id', 404, 'not_found'],
    ['a bad escape', '/api/functions/%zz', 400, 'validation_failed'],
    ['a target in absolute form', 'http://evil.test/api/functions', 400, 'validation_failed'],
    ['a fragment in the target', '/api/functions#x', 400, 'validation_failed'],
    ['an unknown query parameter', '/api/keys?groupid=x', 400, 'validation_failed'],
    ['a repeated query parameter', '/api/keys?groupId=a&groupId=b', 400, 'validation_failed'],
  ])('answers %s (%s) with %i %s', async (_name, path, status, code) => {
    const answer = await rawRequest(manager, { method: 'GET', path });
    expect(answer.status).toBe(status);
    const body = JSON.parse(answer.body.toString()) as Record<string, unknown>;
    expect(body).toMatchObject({
      code,
      requestId: answer.headers['x-request-id'],
      error: expect.stringMatching(/^\S.*\S$/),
    });
    expect(body.requestId).toMatch(UUID);
  });

  it.each(['/api/nothing', '/api/functions/%zz', '/api/functions', '/api/docs'])(
    'requires credentials before anything else: %s',
    async (path) => {
      const answer = await rawRequest(manager, { method: 'GET', path, headers: { 'x-api-key': 'x' } });
      expect(answer.status).toBe(401);
    },
  );

  it('answers every bad credential with one body and status', async () => {
    const group = await api().post('/api/key-groups').send({ name: 'others' });
    const other = await api()
      .post('/api/keys')
      .send({ groupId: (group.body as { id: string }).id, name: 'other' });
    const values = [
      undefined,
      '',
      'unknown-key-value-0',
      (other.body as { value: string }).value,
      `${KEY}x`,
      KEY.toUpperCase(),
    ];
    const answers = await Promise.all(
      values.map((value) => {
        const call = supertest(manager.server).get('/api/functions');
        return value === undefined ? call : call.set('X-API-Key', value);
      }),
    );
    const bodies = answers.map(({ status, body }) => ({ status, ...(body as object), requestId: 'any' }));
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(bodies[0]).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it.each([
    ['PATCH', '/api/functions', 'GET, HEAD, POST'],
    ['POST', '/api/functions/x', 'DELETE, GET, HEAD, PUT'],
    ['GET', '/api/functions/x/enable', 'PUT'],
    ['DELETE', '/api/sources/by-name/x', 'GET, HEAD'],
    ['OPTIONS', '/api/keys', 'GET, HEAD, POST'],
  ])('answers %s %s with 405 and Allow: %s', async (method, path, allow) => {
    const answer = await rawRequest(manager, { method, path });
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
  });

  it.each([
    ['malformed JSON', '{"name":', 400],
    ['an empty body', '', 400],
    ['a bare value', '"x"', 400],
    ['JSON that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    ['33 levels (M8)', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, 400],
    ['100,000 levels (M8)', '['.repeat(100_000), 400],
    ['over 1 MiB (M8)', JSON.stringify({ description: 'x'.repeat(1_048_576) }), 413],
  ])('refuses %s', async (_name, body, status) => {
    const answer = await rawRequest(
      manager,
      { method: 'POST', path: '/api/functions', headers: { 'content-type': 'application/json' } },
      body,
    );
    expect(answer.status).toBe(status);
  });

  it('cuts a chunked body at 1 MiB as well (M8)', async () => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const answer = await rawRequest(
      manager,
      { method: 'POST', path: '/api/functions', headers },
      Buffer.alloc(3_000_000, ' '),
    );
    expect(answer.status).toBe(413);
  });

  it('counts braces in strings for nothing', async () => {
    const answer = await api()
      .post('/api/key-groups')
      .send({ name: 'braces', description: '\\"[{'.repeat(100) });
    expect(answer.status).toBe(201);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
    'refuses %p as JSON with 415 (M4)',
    async (type) => {
      const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
      const answer = await rawRequest(
        manager,
        { method: 'POST', path: '/api/functions', headers },
        JSON.stringify(FUNCTION),
      );
      expect(answer.status).toBe(415);
    },
  );

  it('refuses a compressed body with 415', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect((await rawRequest(manager, { method: 'POST', path: '/api/functions', headers }, 'x')).status).toBe(415);
  });

  it.each(['__proto__', 'constructor', 'prototype'])('refuses the key %s, nested too', async (key) => {
    const body = `{"name":"x","cors":{"origins":["*"],"${key}":{}}}`;
    const answer = await rawRequest(
      manager,
      { method: 'POST', path: '/api/functions', headers: { 'content-type': 'application/json' } },
      body,
    );
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ details: [{ path: `cors.${key}` }] });
  });

  it.each([
    ['name', '{"name":"\\ud800"}'],
    ['description', '{"description":"a \\udc00 b"}'],
    ['description', '{"description":"\\udc00\\ud800"}'],
    ['description', '{"description":"a\\u0000"}'],
    ['cors.origins.1', '{"cors":{"origins":["*","\\ud83d"]}}'],
    ['cors', '{"cors":{"\\ud83d":1}}'],
    ['', '{"a\\u0000":1}'],
    ['', '"\\u0000"'],
  ])('M8: refuses half a character and NUL, naming the field %p: %s', async (field, body) => {
    const answer = await rawRequest(
      manager,
      { method: 'POST', path: '/api/functions', headers: { 'content-type': 'application/json' } },
      body,
    );
    const message = 'must be well-formed Unicode, without NUL';
    expect([answer.status, JSON.parse(answer.body.toString())]).toMatchObject([
      400,
      {
        code: 'validation_failed',
        error: `${field === '' ? 'The body' : `${field}:`} ${message}.`,
        details: [{ path: field, message }],
      },
    ]);
  });

  it('takes whole characters of every plane, escaped or not', async () => {
    const answer = await rawRequest(
      manager,
      { method: 'POST', path: '/api/key-groups', headers: { 'content-type': 'application/json' } },
      '{"name":"planes","description":"\\ud83d\\ude00 😀 \\t"}',
    );
    expect(answer.status).toBe(201);
    expect((await api().get('/api/key-groups')).body).toMatchObject({
      groups: expect.arrayContaining([expect.objectContaining({ description: '😀 😀 \t' })]) as unknown,
    });
  });

  it('names each field that is wrong, in the caller’s own terms', async () => {
    const answer = await api()
      .post('/api/functions')
      .send({ ...FUNCTION, name: undefined, scaling: { minReplica: 1 }, cors: { origins: ['*'], credentials: true } });
    expect(answer.status).toBe(400);
    expect((answer.body as { details: unknown }).details).toEqual([
      { path: 'scaling.minReplica', message: 'is not a known field' },
      { path: 'name', message: 'is required' },
      { path: 'cors.credentials', message: 'must not be true when origins contains *' },
    ]);
  });

  it('says that a choice is missing, and what a time looks like', async () => {
    const answer = await api().get('/api/metrics?since=yesterday').expect(400);
    expect((answer.body as { details: unknown }).details).toEqual([
      { path: 'resolution', message: 'is required' },
      { path: 'since', message: 'must be a time such as 2026-01-31T12:00:00Z' },
    ]);
  });

  it('names a hundred fields at most, and says how many more there are', async () => {
    const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`field${at}`, 1]));
    const answer = await api()
      .post('/api/key-groups')
      .send({ name: 'team', ...fields })
      .expect(400);
    const { error, details } = answer.body as { error: string; details: { path: string }[] };
    expect(error).toBe('field0: is not a known field; there are 4999 more errors.');
    expect(details.map(({ path }) => path)).toEqual(Object.keys(fields).slice(0, 100));
  });

  it('says first which name is misspelt, not that the right one is missing', async () => {
    const answer = await api().post('/api/keys').send({ group: 'friends', name: 'key' }).expect(400);
    expect(answer.body).toMatchObject({ error: 'group: is not a known field; there is 1 more error.' });
  });

  it.each([
    ['/api/keys?groupid=x', 'groupid'],
    ['/api/functions?limit=1', 'limit'],
  ])('calls a parameter what it is: %s', async (path, name) => {
    const answer = await api().get(path).expect(400);
    expect(answer.body).toMatchObject({
      error: `${name}: is not a known query parameter.`,
      details: [{ path: name, message: 'is not a known query parameter' }],
    });
  });

  it.each([
    [{ methods: [] }, 'methods: must not be empty.'],
    [{ name: '' }, 'name: must not be empty; there is 1 more error.'],
    [{ name: 'a\x9b2Jb' }, 'name: must not contain control characters.'],
    [{ name: 'a\u202eb' }, 'name: must not contain characters that change the direction of text.'],
    [{ timeoutSeconds: 0 }, 'timeoutSeconds: must be at least 1.'],
    [{ timeoutSeconds: 3601 }, 'timeoutSeconds: must be at most 3600.'],
    [{ name: 'n'.repeat(65) }, 'name: must have at most 64 characters.'],
    [{ timeoutSeconds: '5' }, 'timeoutSeconds: must be a number, not a string.'],
  ])('puts limits into words: %j', async (fields, error) => {
    const answer = await api()
      .post('/api/functions')
      .send({ ...FUNCTION, ...fields })
      .expect(400);
    expect((answer.body as { error: string }).error).toBe(error);
  });

  it('answers 503 with Retry-After while the store is away, and works again after', async () => {
    manager.store.failNext('list', new DomainError('unavailable', 'The store cannot be reached'));
    const away = await api().get('/api/functions');
    expect([away.status, away.headers['retry-after'], (away.body as { code: string }).code]).toEqual([
      503,
      '5',
      'unavailable',
    ]);
    expect((await api().get('/api/functions')).status).toBe(200);
  });

  it('reveals nothing of its insides when it breaks, and logs them under the request id', async () => {
    manager.store.failNext('list', new Error('ENOENT: /var/lib/wherry/wherry.db'));
    const broken = await api().get('/api/functions');
    expect(broken.status).toBe(500);
    expect(broken.text).not.toMatch(/ENOENT|wherry\.db|\.ts/);
    const { requestId } = broken.body as { requestId: string };
    expect(manager.logger.of('error').map(({ fields }) => fields.requestId)).toContain(requestId);
  });

  it('takes no request id from a peer that is not a trusted proxy, and its own from one that is', async () => {
    const own = '0b19119b-01c4-47ba-ab69-621fcea74b4d';
    const untrusted = await api().get('/api/functions').set('X-Request-Id', own);
    expect(untrusted.headers['x-request-id']).not.toBe(own);
    const behind = await startTestManager({ trustedProxies: ['127.0.0.0/8', '::1'] });
    const agent = supertest(behind.server);
    expect((await agent.get('/api/functions').set('X-Request-Id', own)).headers['x-request-id']).toBe(own);
    const ofEnvoy = '0b19119b-01c4-97ba-ab69-621fcea74b4d';
    expect((await agent.get('/api/functions').set('X-Request-Id', ofEnvoy)).headers['x-request-id']).toBe(ofEnvoy);
    expect((await agent.get('/api/functions').set('X-Request-Id', 'not-a-uuid')).headers['x-request-id']).toMatch(UUID);
    await behind.stop();
  });

  it('refuses a trusted proxy that is no network', async () => {
    await expect(startTestManager({ trustedProxies: ['10.0.0.0/33'] })).rejects.toThrow(
      '10.0.0.0/33 is not an IP address or a network',
    );
  });
});

import supertest from 'supertest';
import { functionNameFor } from '@wherry/core/names.ts';
import { DomainError } from '@wherry/core/errors.ts';
import type { FunctionStatus } from '@wherry/core/resources/function.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';
import type { FunctionView } from './function-schemas.ts';

const BODY = { name: 'Hello', handler: 'app/hello.ts', route: '/hello', methods: ['GET'] };
const REVISION = 'a'.repeat(64);

describe('functions', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const view = (answer: { body: unknown }): FunctionView => (answer.body as { function: FunctionView }).function;
  const create = async (body: object = {}): Promise<FunctionView> =>
    view(
      await api()
        .post('/api/functions')
        .send({ ...BODY, ...body })
        .expect(201),
    );

  async function setStatus(id: string, status: FunctionStatus): Promise<void> {
    const current = await manager.store.get('Function', id);
    await manager.store.updateStatus({
      ...current!,
      status: { observedGeneration: current!.metadata.generation, ...status },
    });
  }
  const ready = (status: 'True' | 'False', reason: string, message = ''): FunctionStatus => ({
    conditions: [
      { type: 'Ready', status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 },
    ],
  });

  const serving = (status: FunctionStatus): FunctionStatus => ({
    activeRevision: REVISION,
    replicas: 2,
    readyReplicas: 1,
    conditions: [
      ...(status.conditions ?? []),
      {
        type: 'RouteAccepted',
        status: 'True',
        reason: 'Accepted',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 1,
      },
    ],
  });

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(() => manager.stop());

  it('are created with every default of the contract, and read back the same', async () => {
    const created = await create();
    expect(created).toEqual({
      id: expect.stringMatching(/^hello-[a-z0-9]{6}$/),
      ...BODY,
      description: null,
      keys: null,
      cors: null,
      enabled: true,
      timeoutSeconds: 30,
      maxRequestBytes: 10_485_760,
      maxConcurrency: null,
      scaling: { minReplicas: 1, maxReplicas: 1, targetConcurrency: 50, idleSeconds: 300 },
      resources: { memoryMiB: 128, cpuMillis: null },
      debug: false,
      pinnedRevision: null,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      status: {
        ready: false,
        reason: 'Pending',
        message: expect.any(String),
        url: 'http://functions.test:8000/run/hello',
        revision: null,
        replicas: 0,
        readyReplicas: 0,
      },
    });
    expect(view(await api().get(`/api/functions/${created.id}`).expect(200))).toEqual(created);
    const stored = await manager.store.get('Function', created.id);
    expect(stored!.metadata.annotations).toMatchObject({ 'wherry.dev/created-at': String(Date.UTC(2026, 0, 1)) });
  });

  it('can be sent back as they were read', async () => {
    const cors = {
      origins: ['https://a.test'],
      credentials: true,
      maxAge: 60,
      allowHeaders: ['X-A'],
      exposeHeaders: [],
    };
    const created = await create({ keys: ['management'], cors, description: 'd', maxConcurrency: 3 });
    const before = manager.store.writes;
    const replaced = view(await api().put(`/api/functions/${created.id}`).send(created).expect(200));
    expect(replaced).toEqual(created);
    expect(manager.store.writes).toBe(before);
  });

  it('drop a leading code/ of the handler, and take [] for no keys', async () => {
    expect(await create({ handler: 'code/app/hello.ts', keys: [] })).toMatchObject({
      handler: 'app/hello.ts',
      keys: null,
    });
  });

  it.each([
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(65) }, 'name'],
    [{ handler: 'hello.ts' }, 'handler'],
    [{ handler: 'app/../other.ts' }, 'handler'],
    [{ handler: 'code/hello.ts/' }, 'handler'],
    [{ route: 'hello' }, 'route'],
    [{ route: '/hello/' }, 'route'],
    [{ route: '/a//b' }, 'route'],
    [{ route: '/:a/:a' }, 'route'],
    [{ route: '/a:b' }, 'route'],
    [{ route: '/*/a' }, 'route'],
    [{ route: `/${'a'.repeat(512)}` }, 'route'],
    [{ methods: [] }, 'methods'],
    [{ methods: ['GET', 'GET'] }, 'methods'],
    [{ methods: ['TRACE'] }, 'methods.0'],
    [{ methods: ['get'] }, 'methods.0'],
    [{ keys: ['management', 'missing'] }, 'keys.1'],
    [{ keys: ['Not an id'] }, 'keys.0'],
    [{ cors: { origins: [] } }, 'cors.origins'],
    [{ cors: { origins: ['*'], credentials: true } }, 'cors.credentials'],
    [{ cors: { origins: ['a.test'] } }, 'cors.origins.0'],
    [{ cors: { origins: ['*'], maxAge: 86_401 } }, 'cors.maxAge'],
    [{ timeoutSeconds: 0 }, 'timeoutSeconds'],
    [{ timeoutSeconds: 3601 }, 'timeoutSeconds'],
    [{ maxRequestBytes: 1_073_741_825 }, 'maxRequestBytes'],
    [{ maxConcurrency: 0 }, 'maxConcurrency'],
    [{ scaling: { minReplicas: 3, maxReplicas: 2 } }, 'scaling.maxReplicas'],
    [{ scaling: { minReplicas: 2 } }, 'scaling.maxReplicas'],
    [{ resources: { memoryMiB: 63 } }, 'resources.memoryMiB'],
    [{ enabled: 'yes' }, 'enabled'],
    [{ secret: 1 }, 'secret'],
  ])('refuse %j with 400 naming %s', async (body, path) => {
    const answer = await api()
      .post('/api/functions')
      .send({ ...BODY, ...body });
    expect(answer.status).toBe(400);
    expect((answer.body as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(path);
    expect((await manager.store.list('Function')).items).toEqual([]);
  });

  it.each([
    ['/hello', ['GET', 'POST'], 409],
    ['/hello', ['POST'], 201],
    ['/hello/world', ['GET'], 201],
  ])('share a route only where methods do not overlap: %s %j → %i', async (route, methods, status) => {
    const first = await create();
    const answer = await api()
      .post('/api/functions')
      .send({ ...BODY, name: 'Second', route, methods });
    expect(answer.status).toBe(status);
    if (status === 409) expect((answer.body as { error: string }).error).toContain(`Hello (id ${first.id})`);
  });

  it('take /users/:id and /users/:name for the same route, also on PUT, also of a disabled function', async () => {
    await create({ route: '/users/:id', enabled: false });
    await api()
      .post('/api/functions')
      .send({ ...BODY, route: '/users/:name' })
      .expect(409);
    const other = await create({ route: '/other' });
    await api()
      .put(`/api/functions/${other.id}`)
      .send({ ...BODY, route: '/users/:name' })
      .expect(409);
    expect((await manager.store.get('Function', other.id))!.spec.route).toBe('/other');
  });

  it('of twenty concurrent creates of one route exactly one is made', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => api().post('/api/functions').send(BODY)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  it('are replaced as a whole: what is left out gets its default, but enabled, keys and the pin stay', async () => {
    const { id } = await create({
      enabled: false,
      description: 'd',
      timeoutSeconds: 5,
      cors: { origins: ['*'] },
      keys: ['management'],
    });
    await setStatus(id, {
      revisions: [{ revision: REVISION, source: 'app', sourceRevision: REVISION, createdAt: '2026-01-01T00:00:00Z' }],
    });
    await api().post(`/api/functions/${id}/rollback`).send({ revision: REVISION }).expect(200);
    const replaced = view(
      await api()
        .put(`/api/functions/${id}`)
        .send({ ...BODY, name: 'New', description: null })
        .expect(200),
    );
    expect(replaced).toMatchObject({
      name: 'New',
      description: null,
      timeoutSeconds: 30,
      cors: null,
      keys: ['management'],
      enabled: false,
      pinnedRevision: REVISION,
    });
    await api().put(`/api/functions/${id}`).send({}).expect(400);
  });

  it.each([
    ['keys left out', {}, ['management']],
    ['the timeout alone changed', { timeoutSeconds: 7 }, ['management']],
    ['null', { keys: null }, null],
    ['an empty list', { keys: [] }, null],
    ['other groups', { keys: ['management', 'management'] }, ['management']],
  ])('stay guarded by a PUT unless it says otherwise: %s', async (_name, change, keys) => {
    const { id } = await create({ keys: ['management'] });
    const replaced = view(
      await api()
        .put(`/api/functions/${id}`)
        .send({ ...BODY, ...change })
        .expect(200),
    );
    expect(replaced.keys).toEqual(keys);
    expect((await manager.store.get('Function', id))!.spec.keyGroups ?? null).toEqual(keys);
  });

  it('stay guarded by a PUT without keys where kubectl deleted their group', async () => {
    const { id } = await create();
    const made = (await manager.store.get('Function', id))!;
    await manager.store.update({ ...made, spec: { ...made.spec, keyGroups: ['gone'] } });
    expect(
      view(
        await api()
          .put(`/api/functions/${id}`)
          .send({ ...BODY, timeoutSeconds: 7 })
          .expect(200),
      ),
    ).toMatchObject({ keys: ['gone'], timeoutSeconds: 7 });
    await api()
      .put(`/api/functions/${id}`)
      .send({ ...BODY, keys: ['gone'] })
      .expect(400);
  });

  it('survive the operator’s status writes between reading and writing', async () => {
    const { id } = await create();
    for (let round = 0; round < 5; round += 1) manager.store.failNext('update', new DomainError('conflict', 'stale'));
    expect(view(await api().put(`/api/functions/${id}/disable`).expect(200)).enabled).toBe(false);
    for (let round = 0; round < 60; round += 1) manager.store.failNext('update', new DomainError('conflict', 'stale'));
    await api().put(`/api/functions/${id}/enable`).expect(409);
  });

  it('are disabled and enabled', async () => {
    const { id } = await create();
    await setStatus(id, ready('True', 'Ready'));
    const off = view(await api().put(`/api/functions/${id}/disable`).expect(200));
    expect(off).toMatchObject({ enabled: false, status: { ready: false, reason: 'Disabled' } });
    await setStatus(id, ready('False', 'Disabled'));
    const on = view(await api().put(`/api/functions/${id}/enable`).expect(200));
    expect(on).toMatchObject({ enabled: true, status: { ready: false, reason: 'Pending' } });
  });

  it.each([
    ['a good revision', serving(ready('True', 'Ready')), { ready: true, reason: 'Ready', message: '' }],
    [
      'a broken edit behind a good revision',
      serving(ready('False', 'SyntaxError', 'app/hello.ts:3:7: Expected ";"')),
      { ready: true, reason: 'SyntaxError', message: 'app/hello.ts:3:7: Expected ";"' },
    ],
    [
      'no code',
      { readyReplicas: 0, ...ready('False', 'HandlerNotFound', 'no such file') },
      { ready: false, reason: 'HandlerNotFound', message: 'no such file' },
    ],
  ])('have their status: %s', async (_name, status, shown) => {
    const { id } = await create();
    await setStatus(id, status);
    expect(view(await api().get(`/api/functions/${id}`)).status).toMatchObject(shown);
  });

  it('list their revisions and roll back to one of them', async () => {
    const { id } = await create();
    const revisions = [REVISION, 'b'.repeat(64)].map((revision) => ({
      revision,
      source: 'app',
      sourceRevision: 'c'.repeat(64),
      createdAt: '2026-01-01T10:00:00Z',
    }));
    await setStatus(id, { activeRevision: REVISION, revisions });
    const list = await api().get(`/api/functions/${id}/revisions`).expect(200);
    expect(list.body).toEqual({
      revisions: revisions.map((revision) => ({
        ...revision,
        createdAt: '2026-01-01T10:00:00.000Z',
        active: revision.revision === REVISION,
      })),
    });
    const pin = (revision: unknown): supertest.Test => api().post(`/api/functions/${id}/rollback`).send({ revision });
    expect(view(await pin('b'.repeat(64)).expect(200)).pinnedRevision).toBe('b'.repeat(64));
    await pin('d'.repeat(64)).expect(404);
    await pin('short').expect(400);
    expect(view(await pin(null).expect(200)).pinnedRevision).toBeNull();
  });

  it('are deleted with 204 and no body', async () => {
    const { id } = await create();
    const answer = await api().delete(`/api/functions/${id}`).expect(204);
    expect(answer.text).toBe('');
    await api().get(`/api/functions/${id}`).expect(404);
    await api().delete(`/api/functions/${id}`).expect(404);
  });

  it('are listed by name in code points, then by id', async () => {
    for (const [index, name] of ['b', 'B', 'ä', '\u{1F600}', '\uFF21', 'b'].entries())
      await create({ name, route: `/${index}` });
    const list = (await api().get('/api/functions').expect(200)).body as { functions: FunctionView[] };
    expect(list.functions.map(({ name }) => name)).toEqual(['B', 'b', 'b', 'ä', '\uFF21', '\u{1F600}']);
    const [, first, second] = list.functions;
    expect(first!.id < second!.id).toBe(true);
  });

  it('shows functions that kubectl made', async () => {
    const name = functionNameFor('x');
    const spec = {
      ...(await manager.store.get('Function', (await create()).id))!.spec,
      route: '/k',
      keyGroups: ['gone'],
    };
    const { displayName: _none, ...rest } = spec;
    await manager.store.create({ kind: 'Function', metadata: { name }, spec: rest });
    expect(view(await api().get(`/api/functions/${name}`).expect(200))).toMatchObject({
      id: name,
      name,
      keys: ['gone'],
    });
  });
});

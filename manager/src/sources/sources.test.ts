import supertest from 'supertest';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';

describe('code sources', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const create = async (name: string): Promise<string> =>
    ((await api().post('/api/sources').send({ name, type: 'manual' }).expect(201)).body as { id: string }).id;

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(() => manager.stop());

  it('are created, found by id and by name, and deleted', async () => {
    const created = await api()
      .post('/api/sources')
      .send({ name: 'My_App', type: 'manual', typeSettings: {} })
      .expect(201);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^my-app-[0-9a-f]{10}$/),
      name: 'My_App',
      type: 'manual',
      typeSettings: {},
      syncSettings: {},
      enabled: true,
      revision: null,
      lastSyncAt: null,
      lastSyncStartedAt: null,
      lastSyncError: null,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    });
    const { id } = created.body as { id: string };
    expect((await api().get(`/api/sources/${id}`).expect(200)).body).toEqual(created.body);
    expect((await api().get('/api/sources/by-name/My_App').expect(200)).body).toEqual(created.body);
    expect((await api().get('/api/sources').expect(200)).body).toEqual({ sources: [created.body] });
    expect((await api().delete(`/api/sources/${id}`).expect(200)).body).toEqual({ success: true });
    await api().get(`/api/sources/${id}`).expect(404);
    await api().get('/api/sources/by-name/My_App').expect(404);
  });

  it.each([
    [{ name: '-x', type: 'manual' }, 'name'],
    [{ name: 'code', type: 'manual' }, 'name'],
    [{ name: 'x'.repeat(65), type: 'manual' }, 'name'],
    [{ name: 'x' }, 'type'],
    [{ name: 'x', type: 'svn' }, 'type'],
    [{ name: 'x', type: 'git', typeSettings: { url: 'https://git.test/x' } }, 'type'],
    [{ name: 'x', type: 'manual', typeSettings: { url: 'https://git.test/x' } }, 'typeSettings.url'],
    [{ name: 'x', type: 'manual', syncSettings: { intervalSeconds: 60 } }, 'syncSettings.intervalSeconds'],
    [{ name: 'x', type: 'manual', typeSettings: { path: '/' } }, 'typeSettings.path'],
  ])('refuse %j with 400 naming %s', async (body, path) => {
    const answer = await api().post('/api/sources').send(body).expect(400);
    expect((answer.body as { details: { path: string }[] }).details[0]!.path).toBe(path);
  });

  it('have unique names, also when made at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api().post('/api/sources').send({ name: 'App', type: 'manual' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });

  it('can be named by-name without hiding behind the look-up', async () => {
    const id = await create('by-name');
    await api().get(`/api/sources/${id}/files`).expect(200);
    await api().get('/api/sources/by-name/by-name').expect(200);
  });

  it.each([
    [{}, 400],
    [{ name: 'other' }, 400],
    [{ type: 'git' }, 400],
    [{ enabled: 'no' }, 400],
    [{ enabled: false }, 200],
    [
      {
        name: 'app',
        type: 'manual',
        typeSettings: {},
        syncSettings: {},
        enabled: true,
        revision: null,
        createdAt: 'x',
      },
      200,
    ],
  ])('answer the update %j with %i', async (body, status) => {
    const id = await create('app');
    const answer = await api().put(`/api/sources/${id}`).send(body).expect(status);
    if (status === 200) expect(answer.body).toMatchObject({ id, name: 'app', syncTriggered: false });
  });

  it('say what can be done with them', async () => {
    const id = await create('app');
    const status = async (): Promise<unknown> => (await api().get(`/api/sources/${id}/status`).expect(200)).body;
    const never = { isSyncing: false, lastSyncAt: null, lastSyncStartedAt: null, lastSyncError: null, revision: null };
    expect(await status()).toEqual({ isSyncable: false, isEditable: true, ...never });
    await api().put(`/api/sources/${id}`).send({ enabled: false }).expect(200);
    expect(await status()).toEqual({ isSyncable: false, isEditable: false, ...never });
    await api().post(`/api/sources/${id}/sync`).expect(400);
    await api().post('/api/sources/missing/sync').expect(404);
  });

  it('show a git source that kubectl made, its credentials redacted, and write none of its files', async () => {
    const spec = {
      type: 'git',
      enabled: true,
      git: { url: 'https://git.test/x', branch: 'main', authToken: { encrypted: 'wherry1.x' } },
      sync: { intervalSeconds: 60, webhook: { enabled: true, secret: { encrypted: 'wherry1.y' } } },
    } as const;
    await manager.store.create({ kind: 'CodeSource', metadata: { name: 'repo' }, spec });
    expect((await api().get('/api/sources/repo').expect(200)).body).toMatchObject({
      typeSettings: { url: 'https://git.test/x', branch: 'main', authToken: '***REDACTED***' },
      syncSettings: { intervalSeconds: 60, webhookEnabled: true, webhookSecret: '***REDACTED***' },
    });
    await api().put('/api/sources/repo/files/a.ts').type('text/plain').send('x').expect(403);
    await api().delete('/api/sources/repo/files/a.ts').expect(403);
    expect((await api().get('/api/sources/repo/files').expect(200)).body).toEqual({ files: [] });
  });

  it('answer webhooks of manual and unknown sources with one and the same 401', async () => {
    const id = await create('app');
    const answers = await Promise.all(
      [`/api/sources/${id}/webhook?secret=x`, '/api/sources/missing/webhook', '/api/sources/No_Id/webhook'].map(
        (path) =>
          rawRequest(
            manager,
            { method: 'POST', path, headers: { 'x-api-key': '', 'content-type': 'application/json' } },
            '{}',
          ),
      ),
    );
    const seen = answers.map(({ status, body }) => [
      status,
      { ...(JSON.parse(body.toString()) as object), requestId: '' },
    ]);
    expect(new Set(seen.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(seen[0]![0]).toBe(401);
  });
});

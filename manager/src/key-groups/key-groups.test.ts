import supertest from 'supertest';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

describe('key groups', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const create = async (name: string): Promise<string> =>
    ((await api().post('/api/key-groups').send({ name }).expect(201)).body as { id: string }).id;

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(() => manager.stop());

  it('are created, read, described and deleted', async () => {
    const created = await api()
      .post('/api/key-groups')
      .send({ name: 'mobile_apps', description: 'phones' })
      .expect(201);
    const { id } = created.body as { id: string };
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
      name: 'mobile_apps',
    });
    expect((await api().get(`/api/key-groups/${id}`)).body).toEqual({
      id,
      name: 'mobile_apps',
      description: 'phones',
      rateLimit: null,
      dailyQuota: null,
      keyCount: 0,
    });
    expect((await api().put(`/api/key-groups/${id}`).send({ description: null }).expect(200)).body).toEqual({
      success: true,
    });
    expect((await api().get(`/api/key-groups/${id}`)).body).toMatchObject({ description: null });
    expect((await api().delete(`/api/key-groups/${id}`).expect(200)).body).toEqual({ success: true });
    await api().get(`/api/key-groups/${id}`).expect(404);
  });

  it('have limits, which stay until they are changed or cleared', async () => {
    const body = { name: 'limited', rateLimit: { requestsPerSecond: 5 }, dailyQuota: 100 };
    const { id } = (await api().post('/api/key-groups').send(body).expect(201)).body as { id: string };
    const view = async (): Promise<unknown> => (await api().get(`/api/key-groups/${id}`)).body;
    expect(await view()).toMatchObject({ rateLimit: { requestsPerSecond: 5, burst: 5 }, dailyQuota: 100 });
    await api().put(`/api/key-groups/${id}`).send({ description: 'd', dailyQuota: null }).expect(200);
    expect(await view()).toMatchObject({ rateLimit: { requestsPerSecond: 5, burst: 5 }, dailyQuota: null });
    expect((await manager.store.get('KeyGroup', id))?.spec.rateLimit).toEqual({ requestsPerSecond: 5 });
    await api().put(`/api/key-groups/${id}`).send({ dailyQuota: 0 }).expect(400);
  });

  it.each(['', 'Upper', 'with space', 'dot.ted', 'x'.repeat(65), 'ä'])('refuse the name %j', async (name) => {
    await api().post('/api/key-groups').send({ name }).expect(400);
  });

  it.each([
    [{}, 400],
    [{ name: 'other' }, 400],
    [{ name: 'fixed' }, 200],
    [{ id: 'x', keyCount: 9 }, 400],
    [{ id: 'x', keyCount: 9, description: 'd' }, 200],
    [{ colour: 'red' }, 400],
  ])('answer the update %j with %i', async (body, status) => {
    const id = await create('fixed');
    await api().put(`/api/key-groups/${id}`).send(body).expect(status);
  });

  it('have unique names, also when made at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api().post('/api/key-groups').send({ name: 'same_name' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });

  it('count their keys and are listed by name', async () => {
    await create('b');
    const id = await create('a_1');
    await api().post('/api/keys').send({ groupId: id, name: 'one' }).expect(201);
    const { groups } = (await api().get('/api/key-groups')).body as { groups: { name: string; keyCount: number }[] };
    expect(groups.map(({ name, keyCount }) => [name, keyCount])).toEqual([
      ['a_1', 1],
      ['b', 0],
      ['management', 1],
    ]);
  });

  it('are not deleted while something needs them', async () => {
    const id = await create('needed');
    const key = (await api().post('/api/keys').send({ groupId: id, name: 'k' }).expect(201)).body as { id: string };
    const notEmpty = await api().delete(`/api/key-groups/${id}`).expect(409);
    expect((notEmpty.body as { error: string }).error).toBe('The group needed still has a key: delete the key first.');
    await api().delete(`/api/keys/${key.id}`).expect(200);
    const fn = await api()
      .post('/api/functions')
      .send({ name: 'f', handler: 'a/b.ts', route: '/f', methods: ['GET'], keys: [id] })
      .expect(201);
    const refusal = await api().delete(`/api/key-groups/${id}`).expect(409);
    expect((refusal.body as { error: string }).error).toContain('The function f');
    await api()
      .delete(`/api/functions/${(fn.body as { function: { id: string } }).function.id}`)
      .expect(204);
    await api()
      .put('/api/settings')
      .send({ settings: { 'api.access-groups': `management,${id}` } })
      .expect(200);
    await api().delete(`/api/key-groups/${id}`).expect(409);
    await api()
      .put('/api/settings')
      .send({ settings: { 'api.access-groups': 'management' } })
      .expect(200);
    await api().delete(`/api/key-groups/${id}`).expect(200);
  });

  it('answer 403 for management before anything else, and by its name, not its id', async () => {
    await api().delete('/api/key-groups/management').expect(403);
    const group = await manager.store.get('KeyGroup', 'management');
    await manager.store.update({ ...group!, spec: { displayName: 'renamed' } });
    await api().delete('/api/key-groups/management').expect(409);
  });
});

import supertest from 'supertest';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

interface KeyBody {
  id: string;
  name: string;
  value?: string;
}

describe('API keys', () => {
  let manager: TestManager;
  let group: string;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const create = async (body: object = {}): Promise<KeyBody> =>
    (
      await api()
        .post('/api/keys')
        .send({ groupId: group, name: 'key', ...body })
        .expect(201)
    ).body as KeyBody;
  const read = async (id: string): Promise<KeyBody> =>
    ((await api().get(`/api/keys/${id}`).expect(200)).body as { key: KeyBody }).key;

  beforeEach(async () => {
    manager = await startTestManager();
    group = ((await api().post('/api/key-groups').send({ name: 'apps' }).expect(201)).body as { id: string }).id;
  });
  afterEach(() => manager.stop());

  describe('whose value is in a Kubernetes Secret', () => {
    const VALUE = 'value-in-a-secret-0';
    beforeEach(async () => {
      manager.referencedSecrets.set('vault', { acme: VALUE });
      const value = { secretKeyRef: { name: 'vault', key: 'acme' } };
      await manager.store.create({
        kind: 'ApiKey',
        metadata: { name: 'acme' },
        spec: { keyGroup: group, displayName: 'acme', enabled: true, value },
      });
    });
    const change = async (body: object): Promise<{ status: number; body: unknown }> =>
      api().put('/api/keys/acme').send(body);

    it('are shown with what it holds now, and without a value where it holds none', async () => {
      const shown = async (): Promise<string | undefined> =>
        ((await api().get('/api/keys/acme?includeValues=true').expect(200)).body as { key: KeyBody }).key.value;
      expect(await shown()).toBe(VALUE);
      manager.referencedSecrets.set('vault', undefined);
      expect(await shown()).toBeUndefined();
      expect((await read('acme')).name).toBe('acme');
    });

    it('keep their value where it is: it cannot be changed here, all else can', async () => {
      const refusal = await change({ value: 'another-value-0123' });
      expect(refusal.status).toBe(400);
      expect(JSON.stringify(refusal.body)).toMatch(/comes from the Secret vault, key acme: change it there/);
      expect((await change({ name: 'renamed', enabled: false })).status).toBe(200);
      expect((await manager.store.get('ApiKey', 'acme'))?.spec).toMatchObject({
        displayName: 'renamed',
        value: { secretKeyRef: { name: 'vault', key: 'acme' } },
      });
    });

    it('open the management API as their Secret says at once, and share their value with no other key', async () => {
      await api()
        .put('/api/settings')
        .send({ settings: { 'api.access-groups': `management,${group}` } })
        .expect(200);
      const asKey = (value: string): Promise<{ status: number }> =>
        supertest(manager.server).get('/api/keys').set('X-API-Key', value);
      expect((await asKey(VALUE)).status).toBe(200);
      manager.referencedSecrets.set('vault', { acme: 'value-in-a-secret-1' });
      expect((await asKey(VALUE)).status).toBe(401);
      expect((await asKey('value-in-a-secret-1')).status).toBe(200);
      expect(
        (await api().post('/api/keys').send({ groupId: group, name: 'other', value: 'value-in-a-secret-1' })).status,
      ).toBe(409);
    });
  });

  describe('and their last use', () => {
    const lastUse = async (id: string): Promise<unknown> =>
      ((await read(id)) as KeyBody & { lastUsedAt: string | null }).lastUsedAt;

    it('is null before the first, and then what routers report', async () => {
      const { id } = await create();
      expect(await lastUse(id)).toBeNull();
      await manager.clock.advance(5000);
      manager.keyLedger.used({ [id]: manager.clock.now() - 1000 });
      expect(await lastUse(id)).toBe('2026-01-01T00:00:04.000Z');
      const list = (await api().get('/api/keys').expect(200)).body as { keys: object[] };
      expect(list.keys).toContainEqual(expect.objectContaining({ id, lastUsedAt: '2026-01-01T00:00:04.000Z' }));
    });

    it('counts uses of the management API too, and only where the key is accepted', async () => {
      const { id, value } = await create();
      await manager.clock.advance(1000);
      await supertest(manager.server)
        .get('/api/keys')
        .set('X-API-Key', value ?? '')
        .expect(401);
      expect(await lastUse(id)).toBeNull();
      const { keys } = (await api().get('/api/keys')).body as { keys: { name: string; lastUsedAt: string }[] };
      expect(keys.find(({ name }) => name === 'bootstrap')?.lastUsedAt).toBe('2026-01-01T00:00:01.000Z');
    });

    it('is not inherited by a later key of the same id', async () => {
      const { id } = await create();
      manager.keyLedger.used({ [id]: manager.clock.now() });
      await api().delete(`/api/keys/${id}`).expect(200);
      expect(manager.keyLedger.lastUsedAt(id)).toBeUndefined();
      await manager.clock.advance(60_000);
      const again = await create();
      expect(again.id).toBe(id);
      // A router that reports late what it noted of the earlier key.
      manager.keyLedger.used({ [id]: manager.clock.now() - 30_000 });
      expect(await lastUse(id)).toBeNull();
    });
  });

  it('get a random value of 256 bits, shown once', async () => {
    const created = await create({ description: 'd' });
    expect(created).toEqual({
      id: expect.any(String),
      name: 'key',
      value: expect.stringMatching(/^wh_[A-Za-z0-9_-]{43}$/),
    });
    expect((await api().get(`/api/keys/${created.id}`)).body).toEqual({
      key: {
        id: created.id,
        name: 'key',
        description: 'd',
        groupId: group,
        groupName: 'apps',
        enabled: true,
        expiresAt: null,
        rateLimit: null,
        dailyQuota: null,
        previousValueExpiresAt: null,
        lastUsedAt: null,
        createdAt: '2026-01-01T00:00:00.000Z',
      },
      group: { id: group, name: 'apps', description: null, rateLimit: null, dailyQuota: null, keyCount: 1 },
    });
  });

  it('give their values only on request, and each such read is an audit record (M9)', async () => {
    const created = await create({ value: 'chosen-value-0123' });
    const before = (await manager.audited()).length;
    expect((await api().get('/api/keys')).text).not.toContain('chosen-value');
    expect((await api().get('/api/keys?includeValues=false')).text).not.toContain('chosen-value');
    expect(await manager.audited()).toHaveLength(before);
    const list = (await api().get(`/api/keys?groupId=${group}&includeValues=true`)).body as { keys: KeyBody[] };
    expect(list.keys).toMatchObject([{ id: created.id, value: 'chosen-value-0123' }]);
    const one = (await api().get(`/api/keys/${created.id}?includeValues=true`)).body as { key: KeyBody };
    expect(one.key.value).toBe('chosen-value-0123');
    const object = { kind: 'ApiKey', id: created.id, name: created.name };
    const reads = (await manager.audited()).slice(before);
    expect(reads).toMatchObject(
      Array.from({ length: 2 }, () => ({
        action: 'key.read-values',
        object,
        result: 'ok',
        actor: { name: 'bootstrap' },
      })),
    );
    await api().get('/api/keys?includeValues=1').expect(400);
  });

  it('have limits, which stay until they are changed or cleared', async () => {
    const { id } = await create({ rateLimit: { requestsPerSecond: 5, burst: 9 }, dailyQuota: 100 });
    expect(await read(id)).toMatchObject({ rateLimit: { requestsPerSecond: 5, burst: 9 }, dailyQuota: 100 });
    await api().put(`/api/keys/${id}`).send({ name: 'renamed', rateLimit: null }).expect(200);
    expect(await read(id)).toMatchObject({ rateLimit: null, dailyQuota: 100 });
    for (const rateLimit of [{ requestsPerSecond: 0 }, { burst: 1 }, { requestsPerSecond: 100_001 }])
      await api().put(`/api/keys/${id}`).send({ rateLimit }).expect(400);
  });

  it('are stored encrypted: their values are nowhere in the objects', async () => {
    await create({ value: 'canary-value-0123' });
    expect(JSON.stringify((await manager.store.list('ApiKey')).items)).not.toContain('canary-value');
  });

  it.each([
    [{ name: 'Upper' }, 'name'],
    [{ groupId: 'missing' }, 'groupId'],
    [{ value: 'short' }, 'value'],
    [{ value: 'has spaces in it!' }, 'value'],
    [{ value: 'x'.repeat(257) }, 'value'],
    [{ expiresAt: '2025-12-31T23:59:59.999Z' }, 'expiresAt'],
    [{ expiresAt: '2026-01-01T00:00:00Z' }, 'expiresAt'],
    [{ expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ role: 'x' }, 'role'],
  ])('refuse %j with 400 naming %s', async (body, path) => {
    const answer = await api()
      .post('/api/keys')
      .send({ groupId: group, name: 'key', ...body })
      .expect(400);
    expect((answer.body as { details: { path: string }[] }).details[0]!.path).toBe(path);
  });

  it('work with the very next request, and stop with it', async () => {
    const as = (value: string): supertest.Test =>
      supertest(manager.server).get('/api/functions').set('X-API-Key', value);
    const { id } = await create({ groupId: 'management', value: 'first-value-01234' });
    await as('first-value-01234').expect(200);
    await api().put(`/api/keys/${id}`).send({ value: 'second-value-0123' }).expect(200);
    await as('first-value-01234').expect(401);
    await as('second-value-0123').expect(200);
    await api().put(`/api/keys/${id}`).send({ enabled: false }).expect(200);
    await as('second-value-0123').expect(401);
    await api().put(`/api/keys/${id}`).send({ enabled: true, expiresAt: '2026-01-01T00:00:00Z' }).expect(200);
    await as('second-value-0123').expect(401);
    await api().put(`/api/keys/${id}`).send({ expiresAt: null }).expect(200);
    await as('second-value-0123').expect(200);
    await api().delete(`/api/keys/${id}`).expect(200);
    await as('second-value-0123').expect(401);
  });

  it('are not taken away while no other key may use the management API', async () => {
    const last = ((await api().get('/api/keys?groupId=management')).body as { keys: KeyBody[] }).keys[0]!.id;
    const past = '2026-01-01T00:00:00Z';
    const refused = async (): Promise<void> => {
      const remove = await api().delete(`/api/keys/${last}`).expect(409);
      expect(remove.body).toMatchObject({
        code: 'conflict',
        error:
          'The key bootstrap is the last one that may use the management API: create or enable another key of a group that the setting api.access-groups names first.',
      });
      for (const body of [{ enabled: false }, { expiresAt: past }]) {
        expect((await api().put(`/api/keys/${last}`).send(body).expect(409)).body).toEqual({
          ...(remove.body as object),
          requestId: expect.any(String),
        });
      }
    };
    await create();
    await refused();
    const other = await create({ groupId: 'management', value: 'other-value-01234' });
    for (const body of [{ enabled: false }, { enabled: true, expiresAt: past }]) {
      await api().put(`/api/keys/${other.id}`).send(body).expect(200);
      await refused();
    }
    await api().delete(`/api/keys/${other.id}`).expect(200);
    await refused();
    await api().put(`/api/keys/${last}`).send({ enabled: true, expiresAt: '2027-01-01T00:00:00Z' }).expect(200);
    await api().get('/api/functions').expect(200);
  });

  it('are taken away while one of another access group is left', async () => {
    const { id } = await create({ value: 'other-value-01234' });
    await api()
      .put('/api/settings')
      .send({ settings: { 'api.access-groups': `management,${group}` } })
      .expect(200);
    const [bootstrap] = ((await api().get('/api/keys?groupId=management')).body as { keys: KeyBody[] }).keys;
    await api().delete(`/api/keys/${bootstrap!.id}`).expect(200);
    await supertest(manager.server).delete(`/api/keys/${id}`).set('X-API-Key', 'other-value-01234').expect(409);
  });

  it('have values that no other key has, a disabled one neither', async () => {
    const first = await create({ value: 'taken-value-01234' });
    const second = await create({ name: 'second' });
    await api().put(`/api/keys/${first.id}`).send({ enabled: false }).expect(200);
    const refusal = await api()
      .post('/api/keys')
      .send({ groupId: group, name: 'third', value: 'taken-value-01234' })
      .expect(409);
    expect(refusal.text).not.toContain(first.id);
    await api().put(`/api/keys/${second.id}`).send({ value: 'taken-value-01234' }).expect(409);
    await api().put(`/api/keys/${first.id}`).send({ value: 'taken-value-01234' }).expect(200);
    const race = await Promise.all(
      ['a', 'b', 'c'].map((name) => api().post('/api/keys').send({ groupId: group, name, value: 'raced-value-01234' })),
    );
    expect(race.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  describe('that have the value of another, as kubectl can write them', () => {
    const VALUE = 'value-of-two-keys-0';
    /** @param fields of the spec. */
    const apply = async (name: string, fields: object): Promise<void> => {
      const value = { secretKeyRef: { name: 'vault', key: 'shared' } };
      const spec = { keyGroup: 'management', displayName: name, enabled: true, value, ...fields };
      await manager.store.create({ kind: 'ApiKey', metadata: { name }, spec });
      await manager.clock.advance(1000);
    };
    const asKey = async (): Promise<number> =>
      (await supertest(manager.server).get('/api/functions').set('X-API-Key', VALUE)).status;
    beforeEach(() => manager.referencedSecrets.set('vault', { shared: VALUE }));

    it.each([
      ['is of a group without access', () => ({ keyGroup: group })],
      ['is disabled', () => ({ enabled: false })],
      ['has expired', () => ({ expiresAt: '2020-01-01T00:00:00Z' })],
    ])('open nothing while the oldest of them %s, as on the function port', async (_what, fields) => {
      await apply('older', fields());
      await apply('newer', {});
      expect(await asKey()).toBe(401);
      await manager.store.delete('ApiKey', 'older');
      await manager.clock.idle();
      expect(await asKey()).toBe(200);
    });

    it('count as the oldest, whichever comes first by name', async () => {
      await apply('older', {});
      await apply('newer', { enabled: false });
      expect(await asKey()).toBe(200);
    });

    it('are not left as the last that may use the management API', async () => {
      await apply('older', { keyGroup: group });
      await apply('newer', {});
      const [bootstrap] = ((await api().get('/api/keys?groupId=management')).body as { keys: KeyBody[] }).keys;
      expect(bootstrap?.name).toBe('bootstrap');
      await api().delete(`/api/keys/${bootstrap?.id}`).expect(409);
    });
  });

  it('have names that are unique in their group, and can be renamed', async () => {
    const first = await create();
    await api().post('/api/keys').send({ groupId: group, name: 'key' }).expect(409);
    await api().post('/api/keys').send({ groupId: 'management', name: 'key' }).expect(201);
    await api().put(`/api/keys/${first.id}`).send({ name: 'renamed' }).expect(200);
    expect((await read(first.id)).name).toBe('renamed');
    const again = await create();
    expect(again.id).not.toBe(first.id);
    await api().put(`/api/keys/${again.id}`).send({ name: 'renamed' }).expect(409);
  });

  it.each([
    [{}, 400],
    [{ groupId: 'management' }, 400],
    [{ enabled: null }, 400],
    [{ description: null }, 200],
    [{ expiresAt: '2020-01-01T00:00:00+02:00' }, 200],
    [{ lastUsedAt: null, createdAt: 'x' }, 400],
    [{ nonsense: 1 }, 400],
  ])('answer the update %j with %i', async (body, status) => {
    const { id } = await create({ description: 'd' });
    await api().put(`/api/keys/${id}`).send(body).expect(status);
  });

  it('can be sent back as they were read, with their times in UTC', async () => {
    const { id } = await create({ expiresAt: '2027-01-01T02:00:00+02:00' });
    const key = await read(id);
    expect(key).toMatchObject({ expiresAt: '2027-01-01T00:00:00.000Z' });
    const { description: _null, ...rest } = key as KeyBody & { description: null };
    await api().put(`/api/keys/${id}`).send(rest).expect(200);
    expect(await read(id)).toEqual(key);
  });

  it('are listed by name, of one group where one is given; an unknown group is 404', async () => {
    for (const name of ['b', 'a']) await create({ name });
    const list = (await api().get(`/api/keys?groupId=${group}`)).body as { keys: KeyBody[] };
    expect(list.keys.map(({ name }) => name)).toEqual(['a', 'b']);
    const all = (await api().get('/api/keys')).body as { keys: KeyBody[] };
    expect(all.keys.map(({ name }) => name)).toEqual(['a', 'b', 'bootstrap']);
    await api().get('/api/keys?groupId=missing').expect(404);
  });

  it('that do not open are listed without a value and open nothing', async () => {
    const { id } = await create({ groupId: 'management', value: 'damaged-value-0123' });
    const key = await manager.store.get('ApiKey', id);
    await manager.store.update({
      ...key!,
      spec: { ...key!.spec, value: { encrypted: `${key!.spec.value.encrypted!.slice(0, -4)}AAAA` } },
    });
    await manager.clock.idle();
    const list = (await api().get('/api/keys?groupId=management&includeValues=true').expect(200)).body as {
      keys: KeyBody[];
    };
    expect(list.keys.find((listed) => listed.id === id)).not.toHaveProperty('value');
    await supertest(manager.server).get('/api/functions').set('X-API-Key', 'damaged-value-0123').expect(401);
    expect(manager.logger.of('error').map(({ fields }) => fields.key)).toContain(id);
  });
});

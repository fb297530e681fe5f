import supertest from 'supertest';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

interface SecretBody {
  id: string;
  name: string;
  scope: string;
  value?: string;
}
interface ErrorBody {
  error: string;
  details?: { path: string; message: string }[];
}

const FUNCTION = { name: 'hello', handler: 'demo/hello.ts', route: '/hello', methods: ['GET'] };

describe('secrets', () => {
  let manager: TestManager;
  let owners: { functionId: string; groupId: string; keyId: string };
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const post = (body: object): supertest.Test => api().post('/api/secrets').send(body);
  const create = async (body: object = {}): Promise<SecretBody> =>
    (await post({ name: 'TOKEN', value: 'v', scope: 'global', ...body }).expect(201)).body as SecretBody;
  const list = async (query = ''): Promise<SecretBody[]> =>
    ((await api().get(`/api/secrets${query}`).expect(200)).body as { secrets: SecretBody[] }).secrets;
  const errorOf = async (test: supertest.Test, status: number): Promise<ErrorBody> =>
    (await test.expect(status)).body as ErrorBody;
  /** One of each scope, by its scope. */
  const createAll = async (name = 'TOKEN'): Promise<Record<string, SecretBody>> => ({
    global: await create({ name, value: 'of all' }),
    function: await create({ name, value: 'of function', scope: 'function', functionId: owners.functionId }),
    group: await create({ name, value: 'of group', scope: 'group', groupId: owners.groupId }),
    key: await create({ name, value: 'of key', scope: 'key', keyId: owners.keyId }),
  });

  beforeEach(async () => {
    manager = await startTestManager();
    const { body } = await api().post('/api/functions').send(FUNCTION).expect(201);
    const group = await api().post('/api/key-groups').send({ name: 'apps' }).expect(201);
    const groupId = (group.body as { id: string }).id;
    const key = await api().post('/api/keys').send({ groupId, name: 'first' }).expect(201);
    owners = {
      functionId: (body as { function: { id: string } }).function.id,
      groupId,
      keyId: (key.body as { id: string }).id,
    };
  });
  afterEach(() => manager.stop());

  it.each([
    ['global', undefined],
    ['function', 'functionId'],
    ['group', 'groupId'],
    ['key', 'keyId'],
  ] as const)('of scope %s are created, read, changed and deleted', async (scope, field) => {
    const owner = field === undefined ? {} : { [field]: owners[field] };
    const created = await create({ scope, ...owner, value: 'first', comment: 'c' });
    expect(created).toEqual({ id: expect.any(String), name: 'TOKEN', scope });
    const view = {
      id: created.id,
      name: 'TOKEN',
      comment: 'c',
      scope,
      scopeType: scope,
      scopeRef: field === undefined ? null : owners[field],
      functionId: null,
      groupId: null,
      keyId: null,
      ...owner,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    };
    const path = `/api/secrets/${created.id}`;
    expect((await api().get(path).expect(200)).body).toEqual(view);
    expect((await api().get('/api/secrets/by-name/TOKEN').expect(200)).body).toEqual({
      name: 'TOKEN',
      secrets: [view],
    });
    await manager.clock.advance(1000);
    expect((await api().put(path).send({ value: 'second', comment: null }).expect(200)).body).toEqual({
      success: true,
    });
    const changed = { ...view, comment: null, updatedAt: '2026-01-01T00:00:01.000Z' };
    expect(await list('?includeValues=true')).toEqual([{ ...changed, value: 'second' }]);
    expect((await api().delete(path).expect(200)).body).toEqual({ success: true });
    await api().get(path).expect(404);
    await api().put(path).send({ comment: 'c' }).expect(404);
    await api().delete(path).expect(404);
    await api().get('/api/secrets/by-name/TOKEN').expect(404);
  });

  it('take and give the scope as scopeType and scopeRef too', async () => {
    const { groupId } = owners;
    const { id } = (await post({ name: 'A', value: 'v', scopeType: 'group', scopeRef: groupId }).expect(201))
      .body as SecretBody;
    expect((await api().get(`/api/secrets/${id}`)).body).toMatchObject({ scope: 'group', groupId, scopeRef: groupId });
    await create({ name: 'B', scope: 'group', scopeType: 'group', scopeRef: groupId, groupId, keyId: null });
    await create({ name: 'C', scopeRef: null });
  });

  it('give their values only in a list that asks for them, and each of them is an audit record (M9)', async () => {
    const secrets = await createAll();
    const before = (await manager.audited()).length;
    const reads = ['', '?includeValues=false', '/by-name/TOKEN', ...Object.values(secrets).map(({ id }) => `/${id}`)];
    for (const read of reads) expect((await api().get(`/api/secrets${read}`).expect(200)).text).not.toContain('of ');
    expect(await manager.audited()).toHaveLength(before);
    const read = await list(`?includeValues=true&groupId=${owners.groupId}`);
    expect(read).toMatchObject([{ id: secrets['group']?.id, value: 'of group' }]);
    await list('?includeValues=true');
    expect((await manager.audited()).slice(before)).toMatchObject(
      [secrets['group'], ...(await list())].map((secret) => ({
        action: 'secret.read-values',
        object: { kind: 'FunctionSecret', id: secret?.id, name: 'TOKEN' },
        result: 'ok',
        actor: { name: 'bootstrap' },
      })),
    );
    for (const query of ['?includeValues=1', '/by-name/TOKEN?includeValues=true', `/${read[0]?.id}?includeValues=true`])
      await api().get(`/api/secrets${query}`).expect(400);
  });

  it('leave audit records of their changes, which hold no value (M9)', async () => {
    const before = (await manager.audited()).length;
    const { id } = await create({ value: 'canary-value' });
    await api().put(`/api/secrets/${id}`).send({ value: 'canary-other' }).expect(200);
    await post({ name: 'TOKEN', value: 'canary-third', scope: 'global' }).expect(409);
    await api().delete(`/api/secrets/${id}`).expect(200);
    const records = (await manager.audited()).slice(before);
    const object = { kind: 'FunctionSecret', id, name: 'TOKEN' };
    expect(records).toMatchObject([
      { action: 'secret.create', object, result: 'ok' },
      { action: 'secret.update', object, result: 'ok' },
      { action: 'secret.create', object: { ...object, id: null }, result: 'failed' },
      { action: 'secret.delete', object, result: 'ok' },
    ]);
    expect(JSON.stringify(records)).not.toContain('canary');
  });

  it('are stored encrypted: their values are nowhere in the objects', async () => {
    await create({ value: 'canary-value' });
    expect(JSON.stringify((await manager.store.list('FunctionSecret')).items)).not.toContain('canary-value');
  });

  it('are listed by name, of one scope or one owner; an unknown owner is 404', async () => {
    await createAll('b');
    await createAll('a');
    expect((await list()).map(({ name }) => name)).toEqual(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b']);
    const { functionId, groupId, keyId } = owners;
    const found = async (query: string): Promise<string[]> =>
      (await list(query)).map(({ name, scope }) => `${name} ${scope}`);
    expect(await found('?scope=key')).toEqual(['a key', 'b key']);
    expect(await found(`?functionId=${functionId}`)).toEqual(['a function', 'b function']);
    expect(await found(`?groupId=${groupId}`)).toEqual(['a group', 'b group']);
    expect(await found(`?keyId=${keyId}`)).toEqual(['a key', 'b key']);
    expect(await found(`?keyId=${keyId}&scope=group`)).toEqual([]);
    for (const field of ['functionId', 'groupId', 'keyId'])
      expect((await errorOf(api().get(`/api/secrets?${field}=missing`), 404)).error).toContain('missing');
    await api().get('/api/secrets?scope=user').expect(400);
  });

  it('are found by name in every scope, or in one', async () => {
    await createAll();
    await create({ name: 'token' });
    const found = async (query: string): Promise<string[]> =>
      ((await api().get(`/api/secrets/by-name/${query}`).expect(200)).body as { secrets: SecretBody[] }).secrets
        .map(({ scope }) => scope)
        .sort();
    expect(await found('TOKEN')).toEqual(['function', 'global', 'group', 'key']);
    expect(await found('TOKEN?scope=key')).toEqual(['key']);
    expect(await found('token')).toEqual(['global']);
    await api().get('/api/secrets/by-name/token?scope=key').expect(404);
    await api().get('/api/secrets/by-name/Token').expect(404);
  });

  it('have names that are unique in their scope, also where they are created at once', async () => {
    await createAll();
    const { functionId, groupId, keyId } = owners;
    for (const [place, scope] of [
      ['in the scope global', { scope: 'global' }],
      [`for the function ${functionId}`, { scope: 'function', functionId }],
      [`for the key group ${groupId}`, { scope: 'group', groupId }],
      [`for the key ${keyId}`, { scope: 'key', keyId }],
    ] as const) {
      const refusal = await errorOf(post({ name: 'TOKEN', value: 'v', ...scope }), 409);
      expect(refusal.error).toBe(`A secret named TOKEN already exists ${place}.`);
      await create({ name: 'token', ...scope });
      const race = await Promise.all([1, 2, 3].map(() => post({ name: 'RACED', value: 'v', ...scope })));
      expect(race.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    }
    await create({ scope: 'group', groupId: 'management' });
  });

  it.each<[string, object]>([
    ['name', { name: '' }],
    ['name', { name: 'with space' }],
    ['name', { name: 'dot.ted' }],
    ['name', { name: 'x'.repeat(129) }],
    ['value', { value: '' }],
    ['value', { value: 'x'.repeat(65_537) }],
    ['value', { value: 'ä'.repeat(32_769) }],
    ['value', { value: 'half \ud83d' }],
    ['value', { value: 7 }],
    ['scope', { scope: 'user' }],
    ['scope', { scope: undefined }],
    ['scopeType', { scopeType: 'key' }],
    ['functionId', { scope: 'function' }],
    ['groupId', { scope: 'group' }],
    ['keyId', { scope: 'key', keyId: null }],
    ['functionId', { scope: 'function', functionId: 'missing' }],
    ['groupId', { scope: 'group', groupId: 'missing' }],
    ['keyId', { scope: 'key', keyId: 'Not An Id' }],
    ['scopeRef', { scope: 'key', scopeRef: 'missing' }],
    ['scopeRef', { scope: 'group', groupId: 'management', scopeRef: 'other' }],
    ['groupId', { groupId: 'management' }],
    ['scopeRef', { scopeRef: 'management' }],
    ['keyId', { scope: 'group', groupId: 'management', keyId: 'x' }],
    ['comment', { comment: 'x'.repeat(1025) }],
    ['role', { role: 'x' }],
  ])('that are wrong in their %s are refused with a 400 that names it: %#', async (path, body) => {
    const refusal = await errorOf(post({ name: 'TOKEN', value: 'v', scope: 'global', ...body }), 400);
    expect(refusal.details?.[0]?.path).toBe(path);
    const owner = Object.values(body).find((id) => id === 'missing') as string | undefined;
    expect(refusal.error).toContain(owner ?? path);
  });

  it.each([['x'], ['x'.repeat(65_536)], ['ä'.repeat(32_768)], ['\n"\\ 🙂']])(
    'keep a value as it is: %#',
    async (value) => {
      await create({ value });
      expect((await list('?includeValues=true'))[0]?.value).toBe(value);
    },
  );

  it.each<[object, number]>([
    [{}, 400],
    [{ value: '' }, 400],
    [{ value: null }, 400],
    [{ comment: null }, 200],
    [{ name: 'TOKEN', scope: 'group', groupId: 'management', keyId: null }, 200],
    [{ scopeType: 'group', scopeRef: 'management' }, 200],
    [{ name: 'OTHER' }, 400],
    [{ scope: 'global' }, 400],
    [{ scopeType: 'key' }, 400],
    [{ scopeRef: null }, 400],
    [{ groupId: 'apps' }, 400],
    [{ functionId: 'x' }, 400],
    [{ createdAt: 'x', decryptionError: 'x' }, 400],
    [{ nonsense: 1 }, 400],
  ])('answer the update %j with %i', async (body, status) => {
    const { id } = await create({ scope: 'group', groupId: 'management' });
    await api().put(`/api/secrets/${id}`).send(body).expect(status);
  });

  it('can be sent back as they were read', async () => {
    for (const { id } of Object.values(await createAll())) {
      const read = (await api().get(`/api/secrets/${id}`)).body as object;
      await api().put(`/api/secrets/${id}`).send(read).expect(200);
      expect((await api().get(`/api/secrets/${id}`)).body).toEqual(read);
    }
  });

  it('that do not open are listed with the reason, and take a new value', async () => {
    const { id } = await create({ name: 'DAMAGED', value: 'v' });
    await create({ name: 'GOOD', value: 'v' });
    const secret = await manager.store.get('FunctionSecret', id);
    const encrypted = `${secret!.spec.value.encrypted!.slice(0, -4)}AAAA`;
    await manager.store.update({ ...secret!, spec: { ...secret!.spec, value: { encrypted } } });
    const [damaged, good] = await list('?includeValues=true');
    expect(damaged).toMatchObject({ id, decryptionError: expect.stringContaining('restore the encryption key') });
    expect(damaged).not.toHaveProperty('value');
    expect(good).toMatchObject({ value: 'v' });
    expect(good).not.toHaveProperty('decryptionError');
    await api().put(`/api/secrets/${id}`).send({ value: 'again' }).expect(200);
    expect((await list('?includeValues=true'))[0]).toMatchObject({ value: 'again' });
  });

  it('whose value is in a Kubernetes Secret are shown with it, and keep it there', async () => {
    manager.referencedSecrets.set('vault', { token: 'in-a-secret' });
    const value = { secretKeyRef: { name: 'vault', key: 'token' } };
    await manager.store.create({
      kind: 'FunctionSecret',
      metadata: { name: 'token' },
      spec: { name: 'TOKEN', scope: 'global', value },
    });
    expect(await list('?includeValues=true')).toMatchObject([{ id: 'token', value: 'in-a-secret' }]);
    const refusal = await errorOf(api().put('/api/secrets/token').send({ value: 'other' }), 400);
    expect(refusal.details).toEqual([
      { path: 'value', message: 'comes from the Secret vault, key token: change it there' },
    ]);
    await api().put('/api/secrets/token').send({ comment: 'c' }).expect(200);
    expect((await manager.store.get('FunctionSecret', 'token'))?.spec).toMatchObject({ comment: 'c', value });
    manager.referencedSecrets.set('vault', undefined);
    expect(await list('?includeValues=true')).toMatchObject([
      { id: 'token', decryptionError: expect.stringContaining('the Secret "vault", which does not exist') },
    ]);
  });

  describe('of a function, group or key', () => {
    /** One for another owner of each kind. */
    async function createForOthers(): Promise<void> {
      const { body } = await api()
        .post('/api/functions')
        .send({ ...FUNCTION, route: '/other' })
        .expect(201);
      const { keys } = (await api().get('/api/keys?groupId=management')).body as { keys: { id: string }[] };
      const functionId = (body as { function: { id: string } }).function.id;
      await create({ name: 'OTHER', scope: 'function', functionId });
      await create({ name: 'OTHER', scope: 'group', groupId: 'management' });
      await create({ name: 'OTHER', scope: 'key', keyId: keys[0]?.id });
    }

    it.each([
      ['key', 'keyId', '/api/keys', 'key.delete'],
      ['group', 'groupId', '/api/key-groups', 'key-group.delete'],
      ['function', 'functionId', '/api/functions', 'function.delete'],
    ] as const)(
      'are deleted with their %s, alone, each with a record of its own (M9)',
      async (scope, field, path, action) => {
        if (scope === 'group') {
          const other = await api().post('/api/key-groups').send({ name: 'other' }).expect(201);
          owners.groupId = (other.body as { id: string }).id;
        }
        const secrets = await createAll();
        await createForOthers();
        const before = (await manager.audited()).length;
        const answer = await api().delete(`${path}/${owners[field]}`);
        expect(answer.status).toBeLessThan(300);
        expect((await list()).filter(({ name }) => name === 'OTHER')).toHaveLength(3);
        const left = (await list()).filter(({ name }) => name === 'TOKEN').map((secret) => secret.scope);
        expect(left.sort()).toEqual(
          Object.keys(secrets)
            .filter((other) => other !== scope)
            .sort(),
        );
        expect((await manager.audited()).slice(before)).toMatchObject([
          { action, object: { id: owners[field] }, result: 'ok' },
          { action, object: { kind: 'FunctionSecret', id: secrets[scope]?.id, name: 'TOKEN' }, result: 'ok' },
        ]);
      },
    );

    it('stay where their owner stays', async () => {
      await createAll();
      await api().delete(`/api/key-groups/${owners.groupId}`).expect(409);
      expect(await list()).toHaveLength(4);
    });

    it('S5: are not those of a later one of its name', async () => {
      const { groupId } = owners;
      await api().delete(`/api/keys/${owners.keyId}`).expect(200);
      await create({ scope: 'group', groupId });
      const [old] = (await manager.store.list('FunctionSecret')).items;
      await manager.store.delete('KeyGroup', groupId);
      await manager.store.create({ kind: 'KeyGroup', metadata: { name: groupId }, spec: {} });
      // As the operator binds it while the first group is there.
      const owner = { kind: 'KeyGroup', name: groupId, uid: 'of-the-first-group' } as const;
      await manager.store.updateStatus({ ...old!, status: { owner } });
      expect(await list(`?groupId=${groupId}`)).toEqual([]);
      const again = await create({ scope: 'group', groupId });
      expect(again.id).not.toBe(old?.metadata.name);
      expect(await list(`?groupId=${groupId}`)).toMatchObject([{ id: again.id }]);
      await api().delete(`/api/key-groups/${groupId}`).expect(200);
      expect(await list()).toEqual([]);
    });

    it('are not created while it is being deleted', async () => {
      const { functionId } = owners;
      const remove = manager.store.delete.bind(manager.store);
      let creation: Promise<{ status: number }> | undefined;
      const deleting = jest.spyOn(manager.store, 'delete').mockImplementationOnce(async (...target) => {
        creation = post({ name: 'LATE', value: 'v', scope: 'function', functionId }).then((answer) => answer);
        // What was sent later is done: the other one waits.
        await create({ name: 'LATER' });
        return remove(...target);
      });
      await api().delete(`/api/functions/${functionId}`).expect(204);
      deleting.mockRestore();
      expect((await creation)?.status).toBe(400);
      expect(await list('?scope=function')).toEqual([]);
    });

    it('go later, by the operator, where the store fails after their owner is gone', async () => {
      await createAll();
      manager.store.failNext('list');
      await api().delete(`/api/keys/${owners.keyId}`).expect(200);
      await api().get(`/api/keys/${owners.keyId}`).expect(404);
      expect(await list('?scope=key')).toHaveLength(1);
    });
  });
});

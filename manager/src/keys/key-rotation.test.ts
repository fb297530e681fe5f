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

  describe('that are rotated', () => {
    const OLD = 'first-value-01234';
    const rotate = (id: string, body: object = {}): supertest.Test => api().post(`/api/keys/${id}/rotate`).send(body);
    const as = async (value: string): Promise<number> =>
      (await supertest(manager.server).get('/api/functions').set('X-API-Key', value)).status;
    const spec = async (id: string) => (await manager.store.get('ApiKey', id))?.spec;
    let id: string;
    beforeEach(async () => {
      ({ id } = await create({ groupId: 'management', value: OLD }));
    });

    it('have both values during the overlap, and end the old one by themselves', async () => {
      const { body } = await rotate(id, { overlapSeconds: 3600 }).expect(200);
      const { value } = body as { value: string };
      expect(body).toEqual({
        id,
        name: 'key',
        value: expect.stringMatching(/^wh_[A-Za-z0-9_-]{43}$/),
        previousValueExpiresAt: '2026-01-01T01:00:00.000Z',
      });
      expect([await as(OLD), await as(value)]).toEqual([200, 200]);
      expect(await read(id)).toMatchObject({ previousValueExpiresAt: '2026-01-01T01:00:00.000Z' });
      const { writes } = manager.store;
      await manager.clock.advance(3_599_000);
      expect(await as(OLD)).toBe(200);
      await manager.clock.advance(1000);
      expect([await as(OLD), await as(value)]).toEqual([401, 200]);
      expect(await read(id)).toMatchObject({ previousValueExpiresAt: null });
      expect(manager.store.writes).toBe(writes);
    });

    it.each<[string, object | undefined]>([
      ['an empty object', {}],
      ['no body', undefined],
    ])('overlap for a day after a request with %s', async (_name, body) => {
      const { body: answer } = await api().post(`/api/keys/${id}/rotate`).send(body).expect(200);
      expect(answer).toMatchObject({ previousValueExpiresAt: '2026-01-02T00:00:00.000Z' });
    });

    it('lose the old value at once with an overlap of 0', async () => {
      const { body } = await rotate(id, { overlapSeconds: 0 }).expect(200);
      expect(body).toMatchObject({ previousValueExpiresAt: '2026-01-01T00:00:00.000Z' });
      expect([await as(OLD), await as((body as KeyBody).value ?? '')]).toEqual([401, 200]);
      expect(Object.keys((await spec(id)) ?? {})).not.toContain('previousValue');
    });

    it('are not rotated again during an overlap, which would end a value that callers have, unless all old ones end', async () => {
      const first = (await rotate(id).expect(200)).body as { value: string };
      const refusal = await rotate(id).expect(409);
      expect(refusal.body).toMatchObject({
        code: 'conflict',
        error:
          'The previous value of the key key is valid until 2026-01-02T00:00:00.000Z: ' +
          'rotate the key after that time, or with overlapSeconds 0, which invalidates both old values immediately.',
      });
      expect([await as(OLD), await as(first.value)]).toEqual([200, 200]);
      const last = (await rotate(id, { overlapSeconds: 0 }).expect(200)).body as { value: string };
      expect([await as(OLD), await as(first.value), await as(last.value)]).toEqual([401, 401, 200]);
      await rotate(id).expect(200);
      await manager.clock.advance(86_400_000);
      await rotate(id).expect(200);
    });

    it('are rotated once by each of two requests at a time, never into three values', async () => {
      const answers = await Promise.all([rotate(id), rotate(id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    });

    it('keep their old value from other keys, during the overlap and after it', async () => {
      await rotate(id).expect(200);
      const take = (): supertest.Test => api().post('/api/keys').send({ groupId: group, name: 'other', value: OLD });
      await take().expect(409);
      await manager.clock.advance(2 * 86_400_000);
      await take().expect(409);
      await api().put(`/api/keys/${id}`).send({ value: OLD }).expect(200);
      expect(await as(OLD)).toBe(200);
    });

    it('keep the old value valid when the new one is replaced', async () => {
      const { value } = (await rotate(id).expect(200)).body as { value: string };
      await api().put(`/api/keys/${id}`).send({ value: 'replacement-01234' }).expect(200);
      expect([await as(OLD), await as(value), await as('replacement-01234')]).toEqual([200, 401, 200]);
    });

    it('are stored encrypted, each value for its own field', async () => {
      await rotate(id).expect(200);
      const stored = JSON.stringify((await manager.store.list('ApiKey')).items);
      expect(stored).not.toContain(OLD);
      expect(await spec(id)).toMatchObject({
        value: { encrypted: expect.any(String) },
        previousValue: { encrypted: expect.any(String) },
      });
    });

    it('M9: leave a record of the rotation, without a value', async () => {
      const { value } = (await rotate(id).expect(200)).body as { value: string };
      const last = (await manager.audited()).at(-1);
      expect(last).toMatchObject({ action: 'key.rotate', result: 'ok', object: { kind: 'ApiKey', id, name: 'key' } });
      for (const one of [OLD, value]) expect(JSON.stringify(last)).not.toContain(one);
    });

    it.each([[{ overlapSeconds: -1 }], [{ overlapSeconds: 2_592_001 }], [{ overlapSeconds: 1.5 }], [{ value: OLD }]])(
      'are not rotated with %j',
      async (body) => {
        await rotate(id, body).expect(400);
        expect(await as(OLD)).toBe(200);
      },
    );

    it('are found, and have a value that can be read and is their own', async () => {
      await rotate('missing').expect(404);
      manager.referencedSecrets.set('vault', { acme: 'value-in-a-secret-0' });
      const value = { secretKeyRef: { name: 'vault', key: 'acme' } };
      const metadata = { name: 'acme' };
      await manager.store.create({ kind: 'ApiKey', metadata, spec: { keyGroup: group, enabled: true, value } });
      expect((await rotate('acme').expect(400)).text).toMatch(/comes from the Secret vault, key acme: change it there/);
      const broken = { encrypted: 'wherry1.AAAA' };
      await manager.store.create({
        kind: 'ApiKey',
        metadata: { name: 'broken' },
        spec: { keyGroup: group, enabled: true, value: broken },
      });
      expect((await rotate('broken').expect(409)).text).toMatch(/cannot be read.*overlapSeconds 0/);
      await rotate('broken', { overlapSeconds: 0 }).expect(200);
    });
  });
});

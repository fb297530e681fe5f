import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import supertest from 'supertest';
import { ALL_ENDPOINTS } from '../openapi/all-endpoints.ts';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';
import type { AuditRecord } from './audit-record.ts';
import type { AuditPage, AuditRecordView } from './audit-schemas.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const FUNCTION = { name: 'Hello', handler: 'app/hello.ts', route: '/hello', methods: ['GET'] };

describe('audit records (M9)', () => {
  let manager: TestManager;
  let begun: number;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const anonymous = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server);
  const records = async (): Promise<AuditRecord[]> => (await manager.audited()).slice(begun);
  const facts = async (): Promise<unknown[]> =>
    (await records()).map(({ action, object, result }) => [action, object.kind, object.id, object.name, result]);
  const create = async (path: string, body: object): Promise<string> =>
    ((await api().post(path).send(body).expect(201)).body as { id: string }).id;

  beforeEach(async () => {
    manager = await startTestManager();
    begun = (await manager.audited()).length;
  });
  afterEach(() => manager.stop());

  it('say of each change who made it, from where, in which request, and the object by id and name', async () => {
    const answer = await api().post('/api/key-groups').send({ name: 'partners' }).expect(201);
    const [bootstrap] = (await manager.store.list('ApiKey')).items;
    expect(await records()).toEqual([
      {
        id: expect.any(Number) as number,
        timestamp: manager.clock.now(),
        actor: { type: 'key', id: bootstrap!.metadata.name, name: 'bootstrap' },
        action: 'key-group.create',
        object: { kind: 'KeyGroup', id: (answer.body as { id: string }).id, name: 'partners' },
        result: 'ok',
        requestId: answer.headers['x-request-id'],
        clientAddress: '127.0.0.1',
      },
    ]);
    expect(answer.headers['x-request-id']).toMatch(UUID);
  });

  it('hold no value of a key that a caller writes where an id or a name belongs', async () => {
    const [group] = (await manager.store.list('KeyGroup')).items;
    const value = 'a-key-that-ada-knows';
    const key = await create('/api/keys', { groupId: group!.metadata.name, name: 'ada', value });
    await api().delete(`/api/keys/${value}`).expect(404);
    await api().delete(`/api/keys/${KEY}`).expect(404);
    await api().delete('/api/keys/wh_Not-the-shape-of-an-id').expect(404);
    await api().post('/api/key-groups').send({ name: value }).expect(201);
    await rawRequest(manager, { method: 'DELETE', path: `/api/sources/app/files/lib%2F${value}` });
    await rawRequest(manager, { method: 'DELETE', path: `/api/sources/app/files/backup-${KEY}.txt` });
    await anonymous().delete('/api/keys/shown-by-a-nobody').set('X-API-Key', 'shown-by-a-nobody').expect(401);
    await api().delete(`/api/keys/${key}`).expect(200);
    const all = JSON.stringify(await records());
    for (const text of [value, KEY, 'wh_Not', 'shown-by']) expect(all).not.toContain(text);
    expect(await facts()).toEqual(
      expect.arrayContaining([
        ['key.delete', 'ApiKey', null, null, 'failed'],
        ['file.delete', 'File', 'app', 'lib/(the value of a key)', 'failed'],
        ['file.delete', 'File', 'app', 'backup-(the value of a key).txt', 'failed'],
        ['key.delete', 'ApiKey', key, 'ada', 'ok'],
      ]),
    );
  });

  it('are written of every kind of change, and hold no value', async () => {
    const group = await create('/api/key-groups', { name: 'partners', description: 'CANARY' });
    await api().put(`/api/key-groups/${group}`).send({ description: 'CANARY-2' }).expect(200);
    const key = await create('/api/keys', {
      groupId: group,
      name: 'acme',
      value: 'CANARY-of-a-key-value',
      description: 'CANARY',
    });
    await api().put(`/api/keys/${key}`).send({ value: 'CANARY-of-another-value', name: 'acme-2' }).expect(200);
    await api().get('/api/keys?includeValues=true').expect(200);
    await api().delete(`/api/keys/${key}`).expect(200);
    await api().delete(`/api/key-groups/${group}`).expect(200);
    await api()
      .put('/api/settings')
      .send({ settings: { 'server.name': 'CANARY', 'log.level': 'warn' } })
      .expect(200);
    const source = await create('/api/sources', { name: 'app', type: 'manual' });
    await api().put(`/api/sources/${source}`).send({ enabled: true }).expect(200);
    for (const method of ['PUT', 'POST', 'DELETE'] as const) {
      await rawRequest(
        manager,
        { method, path: `/api/sources/${source}/files/lib%2F${method === 'POST' ? 'b' : 'a'}.ts` },
        method === 'DELETE' ? '' : 'CANARY',
      );
    }
    const form = '--X\r\nContent-Disposition: form-data; name="f"; filename="c.ts"\r\n\r\nCANARY\r\n--X--\r\n';
    for (const method of ['PUT', 'POST']) {
      await rawRequest(
        manager,
        { method, path: `/api/sources/${source}/tree`, headers: { 'content-type': 'multipart/form-data; boundary=X' } },
        form,
      );
    }
    const made = (
      await api()
        .post('/api/functions')
        .send({ ...FUNCTION, description: 'CANARY' })
        .expect(201)
    ).body as { function: { id: string } };
    const { id } = made.function;
    await api()
      .put(`/api/functions/${id}`)
      .send({ ...FUNCTION, name: 'Renamed' })
      .expect(200);
    await api().put(`/api/functions/${id}/disable`).expect(200);
    await api().put(`/api/functions/${id}/enable`).expect(200);
    await api().post(`/api/functions/${id}/rollback`).send({ revision: null }).expect(200);
    await api().delete(`/api/functions/${id}`).expect(204);
    await api().delete(`/api/sources/${source}`).expect(200);
    const [bootstrap] = (await manager.store.list('ApiKey')).items;
    expect(await facts()).toEqual([
      ['key-group.create', 'KeyGroup', group, 'partners', 'ok'],
      ['key-group.update', 'KeyGroup', group, 'partners', 'ok'],
      ['key.create', 'ApiKey', key, 'acme', 'ok'],
      ['key.update', 'ApiKey', key, 'acme-2', 'ok'],
      ['key.read-values', 'ApiKey', key, 'acme-2', 'ok'],
      ['key.read-values', 'ApiKey', bootstrap!.metadata.name, 'bootstrap', 'ok'],
      ['key.delete', 'ApiKey', key, 'acme-2', 'ok'],
      ['key-group.delete', 'KeyGroup', group, 'partners', 'ok'],
      ['settings.update', 'Settings', 'wherry', 'log.level, server.name', 'ok'],
      ['source.create', 'CodeSource', source, 'app', 'ok'],
      ['source.update', 'CodeSource', source, 'app', 'ok'],
      ['file.put', 'File', source, 'lib/a.ts', 'ok'],
      ['file.create', 'File', source, 'lib/b.ts', 'ok'],
      ['file.delete', 'File', source, 'lib/a.ts', 'ok'],
      ['source.replace-files', 'CodeSource', source, 'app', 'ok'],
      ['source.add-files', 'CodeSource', source, 'app', 'ok'],
      ['function.create', 'Function', id, 'Hello', 'ok'],
      ['function.update', 'Function', id, 'Renamed', 'ok'],
      ['function.disable', 'Function', id, 'Renamed', 'ok'],
      ['function.enable', 'Function', id, 'Renamed', 'ok'],
      ['function.rollback', 'Function', id, 'Renamed', 'ok'],
      ['function.delete', 'Function', id, 'Renamed', 'ok'],
      ['source.delete', 'CodeSource', source, 'app', 'ok'],
    ]);
    expect(JSON.stringify(await manager.audited())).not.toContain('CANARY');
  });

  it('are declared by every endpoint that changes something or gives plaintext values, each under one scheme', () => {
    for (const { operationId, method, audit, query } of ALL_ENDPOINTS) {
      const givesValues = query !== undefined && 'includeValues' in (query as { shape: object }).shape;
      // A provider ends a sign-in by sending the browser to a page.
      const changes = method !== 'get' || operationId === 'finishOidcSignIn';
      expect([operationId, audit !== undefined]).toEqual([operationId, changes || givesValues]);
      if (audit !== undefined)
        expect(audit.action).toMatch(
          /^(function|source|file|key-group|key|secret|settings|logs|user|session|encryption-key)\.[a-z]+(-[a-z]+)?$/,
        );
      if (givesValues) expect(audit?.flag).toBe('includeValues');
    }
  });

  it('are written of what is refused and of what fails, with who claimed to be there', async () => {
    const group = await create('/api/key-groups', { name: 'other' });
    await create('/api/keys', { groupId: group, name: 'mine', value: 'a-key-of-another-group' });
    begun = (await manager.audited()).length;
    await anonymous().post('/api/functions').send(FUNCTION).expect(401);
    await anonymous().delete('/api/functions/some-id').set('X-API-Key', 'a-key-that-nobody-has').expect(401);
    await anonymous().get('/api/keys?includeValues=true').set('X-API-Key', 'a-key-of-another-group').expect(401);
    await anonymous().get('/api/keys').expect(401);
    await api().delete('/api/key-groups/management').expect(403);
    await api().post('/api/key-groups').send({ name: 'other' }).expect(409);
    await api()
      .put('/api/functions/unknown')
      .send({ ...FUNCTION, name: 'x'.repeat(65) })
      .expect(400);
    expect(
      (await records()).map(({ actor, action, object, result }) => [
        actor.name,
        action,
        object.id,
        object.name,
        result,
      ]),
    ).toEqual([
      ['(no credentials)', 'function.create', null, null, 'denied'],
      ['(unknown key)', 'function.delete', 'some-id', null, 'denied'],
      ['mine', 'key.read-values', null, null, 'denied'],
      ['bootstrap', 'key-group.delete', 'management', null, 'denied'],
      ['bootstrap', 'key-group.create', null, 'other', 'failed'],
      ['bootstrap', 'function.update', 'unknown', null, 'failed'],
    ]);
  });

  it('of a flood without credentials are bounded in number and size, and the rest is counted', async () => {
    const path = `/api/functions/${'x'.repeat(4000)}`;
    for (let call = 0; call < 300; call += 1)
      await rawRequest(manager, { method: 'DELETE', path, headers: { 'x-api-key': '' } });
    const flood = await records();
    expect(flood).toHaveLength(100);
    expect(Math.max(...flood.map((record) => JSON.stringify(record).length))).toBeLessThan(1000);
    await api()
      .put('/api/settings')
      .send({ settings: { 'log.level': 'warn' } })
      .expect(200);
    await manager.clock.advance(60_000);
    expect((await facts()).slice(100)).toEqual([
      ['settings.update', 'Settings', 'wherry', 'log.level', 'ok'],
      ['audit.suppress', 'AuditLog', null, '200 refused requests without separate records', 'denied'],
    ]);
    await rawRequest(manager, { method: 'DELETE', path, headers: { 'x-api-key': '' } });
    expect(await records()).toHaveLength(103);
  });

  describe('while they cannot be written', () => {
    it('let nothing be changed but what was under way, whose records are written when there is room', async () => {
      manager.audit.isFull = true;
      const failed = await api().post('/api/key-groups').send({ name: 'first' }).expect(503);
      expect(failed.body).toMatchObject({
        code: 'unavailable',
        error: expect.stringContaining('audit record') as string,
      });
      expect(manager.logger.of('error')).toHaveLength(1);
      await api().post('/api/key-groups').send({ name: 'second' }).expect(503);
      expect((await manager.store.list('KeyGroup')).items.map(({ metadata }) => metadata.name)).not.toContainEqual(
        expect.stringMatching(/^second/),
      );
      await api().get('/api/key-groups').expect(200);
      manager.audit.isFull = false;
      await api().post('/api/key-groups').send({ name: 'third' }).expect(201);
      expect((await records()).map(({ object, result }) => [object.name, result])).toEqual([
        ['first', 'ok'],
        ['third', 'ok'],
      ]);
    });

    it('are tried again by themselves', async () => {
      manager.audit.isFull = true;
      await api().post('/api/key-groups').send({ name: 'first' }).expect(503);
      await manager.clock.advance(5000);
      manager.audit.isFull = false;
      await manager.clock.advance(5000);
      expect((await records()).map(({ object }) => object.name)).toEqual(['first']);
    });

    it('give no value of a key', async () => {
      manager.audit.isFull = true;
      const answer = await api().get('/api/keys?includeValues=true').expect(503);
      expect(answer.text).not.toContain(KEY);
      await api().get('/api/keys').expect(200);
    });
  });

  describe('through the API', () => {
    const page = async (query = ''): Promise<AuditPage['data']> =>
      ((await api().get(`/api/audit${query}`).expect(200)).body as AuditPage).data;
    const names = ({ records: found }: AuditPage['data']): (string | null)[] => found.map(({ object }) => object.name);

    beforeEach(async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        await create('/api/key-groups', { name });
        manager.clock.jump(1000);
      }
    });

    it('come newest first, page by page, while new ones are added', async () => {
      const first = await page('?limit=2&action=key-group.create');
      expect([names(first), first.pagination.hasMore]).toEqual([['e', 'd'], true]);
      await create('/api/key-groups', { name: 'f' });
      const second = await page(first.pagination.next!.replace('/api/audit', ''));
      expect(names(second)).toEqual(['c', 'b']);
      const third = await page(second.pagination.next!.replace('/api/audit', ''));
      expect([names(third), third.pagination]).toEqual([['a', 'management'], { limit: 2, hasMore: false }]);
      expect(third.records[0]).toEqual({
        ...third.records[0],
        id: expect.stringMatching(/^\d+$/) as string,
        timestamp: expect.stringMatching(/Z$/) as string,
      });
    });

    it('are found by actor, action, object and time', async () => {
      const all = await page();
      const [, third] = all.records.filter(({ object }) => ['b', 'c'].includes(object.name ?? '')) as [
        AuditRecordView,
        AuditRecordView,
      ];
      expect(names(await page('?actor=bootstrap'))).toEqual(['e', 'd', 'c', 'b', 'a']);
      expect(names(await page(`?objectId=${third.object.id}`))).toEqual(['b']);
      expect(names(await page(`?since=${third.timestamp}&action=key-group.create`))).toEqual(['e', 'd', 'c', 'b']);
      expect(names(await page(`?until=${third.timestamp}&actor=bootstrap`))).toEqual(['a']);
      expect(names(await page('?actor=nobody'))).toEqual([]);
    });

    it.each([
      '?limit=0',
      '?limit=1001',
      '?cursor=x',
      '?cursor=1_2',
      '?since=yesterday',
      '?unknown=1',
      '/export?limit=1',
    ])('refuse %s', async (query) => {
      await api().get(`/api/audit${query}`).expect(400);
    });

    it('are exported as lines, all of them, whatever their number', async () => {
      const [one] = await manager.audited();
      await manager.audit.append(Array.from({ length: 2500 }, (_, index) => ({ ...one!, requestId: String(index) })));
      const answer = await rawRequest(manager, { method: 'GET', path: '/api/audit/export' });
      expect(answer.headers).toMatchObject({ 'content-type': 'application/x-ndjson', 'transfer-encoding': 'chunked' });
      const lines = answer.body
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditRecordView);
      const stored = (await manager.audited()).reverse();
      expect(lines.map(({ id }) => Number(id))).toEqual(stored.map(({ id }) => id));
      const some = await rawRequest(manager, { method: 'GET', path: '/api/audit/export?actor=bootstrap' });
      expect(some.body.toString().trimEnd().split('\n')).toHaveLength(5);
      expect((await rawRequest(manager, { method: 'GET', path: '/api/audit/export?actor=nobody' })).body).toHaveLength(
        0,
      );
    });

    it('are read as the caller of the export reads them, and no further once it has left', async () => {
      const [one] = await manager.audited();
      const requestId = 'r'.repeat(500);
      await manager.audit.append(Array.from({ length: 60_000 }, () => ({ ...one!, requestId })));
      const query = manager.audit.query.bind(manager.audit);
      let reads = 0;
      manager.audit.query = (filter) => {
        if (filter.limit === 1000) reads += 1;
        return query(filter);
      };
      const { port } = manager.server.address() as AddressInfo;
      const options = { host: '127.0.0.1', port, path: '/api/audit/export', headers: { 'x-api-key': KEY } };
      const stalled = request(options).end();
      const [answer] = (await once(stalled, 'response')) as [IncomingMessage];
      answer.pause().on('error', () => undefined);
      // What others read meanwhile comes after what this one would have read.
      for (let other = 0; other < 60; other += 1) await page('?limit=1000');
      expect(reads).toBeLessThan(40);
      stalled.destroy();
      await new Promise((resolve) => answer.once('close', resolve));
      await page();
      const before = reads;
      for (let other = 0; other < 3; other += 1) await page();
      expect(reads).toBe(before);
    });

    it('are cut short, not whole, when they cannot be read on', async () => {
      const [one] = await manager.audited();
      await manager.audit.append(Array.from({ length: 1500 }, () => one!));
      const query = manager.audit.query.bind(manager.audit);
      manager.audit.query = async (filter) =>
        filter.before === undefined ? query(filter) : Promise.reject(new Error('the disk failed'));
      await expect(rawRequest(manager, { method: 'GET', path: '/api/audit/export' })).rejects.toThrow();
    });

    it('are kept as long as audit.retention-days says', async () => {
      expect(manager.audit.retentionDays).toBe(365);
      await api()
        .put('/api/settings')
        .send({ settings: { 'audit.retention-days': '30' } })
        .expect(200);
      expect(manager.audit.retentionDays).toBe(30);
      await api()
        .put('/api/settings')
        .send({ settings: { 'audit.retention-days': '0' } })
        .expect(400);
    });
  });
});

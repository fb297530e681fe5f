import supertest from 'supertest';
import { Browser, createUser } from '../testing/browser.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

describe('M5a: keys that may use the management API, in the hands of an editor', () => {
  let manager: TestManager;
  let editor: Browser;
  let bootstrap: string;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);

  beforeEach(async () => {
    manager = await startTestManager();
    await createUser(manager, 'admin@example.com');
    await createUser(manager, 'editor@example.com', 'editor');
    editor = await new Browser(manager).signIn('editor@example.com');
    await api().post('/api/key-groups').send({ name: 'team' }).expect(201);
    const list = (await api().get('/api/keys').expect(200)).body as { keys: { id: string }[] };
    bootstrap = list.keys[0]?.id ?? '';
  });
  afterEach(() => manager.stop());

  it('are neither created, changed, rotated, deleted nor read', async () => {
    const before = (await manager.store.get('ApiKey', bootstrap))?.spec;
    const answers = [
      await editor.send('post', '/api/keys', { body: { groupId: 'management', name: 'mine' } }),
      await editor.send('put', `/api/keys/${bootstrap}`, { body: { value: 'a-value-that-the-editor-knows' } }),
      await editor.send('put', `/api/keys/${bootstrap}`, { body: { enabled: false } }),
      await editor.send('post', `/api/keys/${bootstrap}/rotate`, { body: {} }),
      await editor.send('delete', `/api/keys/${bootstrap}`),
      await editor.send('get', `/api/keys/${bootstrap}?includeValues=true`),
    ];
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(403));
    expect(answers.map(({ text }) => text).join()).not.toContain(KEY);
    expect((await manager.store.get('ApiKey', bootstrap))?.spec).toEqual(before);
    expect((await editor.send('get', `/api/keys/${bootstrap}`)).status).toBe(200);
  });

  it('are in lists without their values, of which there is no record then', async () => {
    await api().post('/api/keys').send({ groupId: 'team', name: 'of-the-team' }).expect(201);
    const answer = await editor.send('get', '/api/keys?includeValues=true');
    const { keys } = answer.body as { keys: { name: string; value?: string }[] };
    expect(keys.map(({ name, value }) => [name, value === undefined])).toEqual([
      ['bootstrap', true],
      ['of-the-team', false],
    ]);
    const read = (await manager.audited()).filter(({ action }) => action === 'key.read-values');
    expect(read.map(({ object }) => object.name)).toEqual(['of-the-team']);
  });

  it('do not become more: which groups may, and how long records are kept, is for administrators', async () => {
    const set = (settings: Record<string, string | null>) =>
      editor.send('put', '/api/settings', { body: { settings } });
    for (const settings of [
      { 'api.access-groups': 'management,team' },
      { 'audit.retention-days': '1', 'log.level': 'debug' },
    ])
      expect((await set(settings)).status).toBe(403);
    expect(
      (await set({ 'api.access-groups': 'management', 'audit.retention-days': null, 'log.level': 'debug' })).status,
    ).toBe(200);
    const admin = await new Browser(manager).signIn('admin@example.com');
    const settings = { 'api.access-groups': 'management,team' };
    expect((await admin.send('put', '/api/settings', { body: { settings } })).status).toBe(200);
    expect((await editor.send('post', '/api/keys', { body: { groupId: 'team', name: 'mine' } })).status).toBe(403);
    expect((await admin.send('post', '/api/keys', { body: { groupId: 'team', name: 'mine' } })).status).toBe(201);
  });
});

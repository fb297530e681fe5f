import supertest from 'supertest';
import { DomainError } from '@wherry/core/errors.ts';
import { Browser, createUser } from '../testing/browser.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

interface Setting {
  name: string;
  value: string;
  scope: string;
}

describe('settings of a user', () => {
  let manager: TestManager;
  let ada: Browser;
  const put = (settings: Record<string, string | null>) => ada.send('put', '/api/settings', { body: { settings } });
  const list = async (user: Browser): Promise<Setting[]> =>
    ((await user.send('get', '/api/settings')).body as { settings: Setting[] }).settings;
  const own = async (user: Browser): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await list(user)).flatMap(({ name, value, scope }) => (scope === 'user' ? [[name, value]] : [])),
    );

  beforeEach(async () => {
    manager = await startTestManager();
    await createUser(manager, 'ada@example.com');
    ada = await new Browser(manager).signIn('ada@example.com');
  });
  afterEach(() => manager.stop());

  it('are read back by that user alone, and null restores the default', async () => {
    await createUser(manager, 'bob@example.com');
    const bob = await new Browser(manager).signIn('bob@example.com');
    expect((await put({ 'ui.theme': 'dark', 'ui.time-zone': 'Europe/Berlin' })).body).toEqual({
      success: true,
      updated: 2,
    });
    expect(await own(ada)).toEqual({ 'ui.theme': 'dark', 'ui.time-zone': 'Europe/Berlin' });
    expect(await own(bob)).toEqual({ 'ui.theme': 'system', 'ui.time-zone': 'system' });
    await put({ 'ui.theme': null });
    expect(await own(ada)).toEqual({ 'ui.theme': 'system', 'ui.time-zone': 'Europe/Berlin' });
  });

  it('are neither shown to a key nor changed by it', async () => {
    const api = supertest.agent(manager.server).set('X-API-Key', KEY);
    const { settings } = (await api.get('/api/settings').expect(200)).body as { settings: Setting[] };
    expect(settings.filter(({ scope }) => scope === 'user')).toEqual([]);
    await api
      .put('/api/settings')
      .send({ settings: { 'ui.theme': 'dark' } })
      .expect(400);
  });

  it.each([
    ['ui.theme', 'blue'],
    ['ui.time-zone', 'Mars/Olympus'],
    ['ui.time-zone', '+01:00'],
    ['ui.font', 'x'],
  ])('refuse %s = %s, and change nothing with it', async (name, value) => {
    expect((await put({ 'ui.theme': 'dark', [name]: value })).status).toBe(400);
    expect(await own(ada)).toEqual({ 'ui.theme': 'system', 'ui.time-zone': 'system' });
  });

  it('change together with global ones, or neither does', async () => {
    expect((await put({ 'ui.theme': 'dark', 'server.name': 'Mine' })).status).toBe(200);
    expect(await list(ada)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'server.name', value: 'Mine' }),
        expect.objectContaining({ name: 'ui.theme', value: 'dark' }),
      ]),
    );
    manager.store.failNext('update', new DomainError('unavailable', 'The store cannot be reached'));
    expect((await put({ 'ui.theme': 'light', 'server.name': 'Other' })).status).toBe(503);
    expect(await own(ada)).toMatchObject({ 'ui.theme': 'dark' });
  });

  it('let a session, and no key, empty api.access-groups', async () => {
    const api = supertest.agent(manager.server).set('X-API-Key', KEY);
    await api
      .put('/api/settings')
      .send({ settings: { 'api.access-groups': '' } })
      .expect(403);
    expect((await put({ 'api.access-groups': '' })).status).toBe(200);
    await api.get('/api/settings').expect(401);
    expect((await list(ada)).find(({ name }) => name === 'api.access-groups')?.value).toBe('');
  });
});

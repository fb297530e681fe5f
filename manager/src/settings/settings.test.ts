import supertest from 'supertest';
import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';
import type { SettingView } from './setting-schemas.ts';

describe('settings', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const put = (settings: unknown): supertest.Test => api().put('/api/settings').send({ settings });
  const value = async (name: string): Promise<string | undefined> => {
    const { settings } = (await api().get('/api/settings').expect(200)).body as { settings: SettingView[] };
    return settings.find((setting) => setting.name === name)?.value;
  };

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(() => manager.stop());

  it('are all listed by name with their defaults', async () => {
    const { settings } = (await api().get('/api/settings').expect(200)).body as { settings: SettingView[] };
    const expected = Object.entries(SETTINGS).map(([name, definition]) => ({
      name,
      value: definition.default,
      default: definition.default,
      scope: 'global',
    }));
    expect(settings).toEqual(expected.sort((a, b) => (a.name < b.name ? -1 : 1)));
  });

  it('are changed together, and null is the default', async () => {
    expect((await put({ 'log.level': 'warn', 'server.name': 'Mine' }).expect(200)).body).toEqual({
      success: true,
      updated: 2,
    });
    expect([await value('log.level'), await value('server.name')]).toEqual(['warn', 'Mine']);
    await put({ 'log.level': null }).expect(200);
    expect([await value('log.level'), await value('server.name')]).toEqual(['info', 'Mine']);
    expect((await manager.store.get('Settings', 'wherry'))!.spec.values).toEqual({ 'server.name': 'Mine' });
  });

  it('are changed all or not at all, with a detail for each bad one', async () => {
    const answer = await put({ 'log.level': 'loud', 'server.name': 'Mine', unknown: 'x', 'ui.theme': 'dark' }).expect(
      400,
    );
    expect((answer.body as { details: { path: string }[] }).details.map(({ path }) => path)).toEqual([
      'settings.log.level',
      'settings.unknown',
      'settings.ui.theme',
    ]);
    expect(await value('server.name')).toBe('Wherry');
  });

  it('that somebody deleted with kubectl are the defaults, and are made again by the next change, as those of a start that was done', async () => {
    await put({ 'log.level': 'warn' }).expect(200);
    await manager.store.delete('Settings', 'wherry');
    expect(await value('log.level')).toBe('info');
    await put({ 'server.name': 'Mine' }).expect(200);
    expect([await value('log.level'), await value('server.name')]).toEqual(['info', 'Mine']);
    expect((await manager.store.get('Settings', 'wherry'))!.metadata.annotations).toMatchObject({
      'wherry.dev/first-start': 'done',
    });
  });

  it.each([
    [{}, 400],
    [{ 'log.level': 1 }, 400],
    [{ toString: 'x' }, 400],
    [[], 400],
    [null, 400],
  ])('refuse %j', async (settings, status) => {
    await put(settings).expect(status);
  });

  describe('of access groups', () => {
    const createGroup = async (name: string): Promise<string> =>
      ((await api().post('/api/key-groups').send({ name }).expect(201)).body as { id: string }).id;
    const createKey = (groupId: string, value: string): supertest.Test =>
      api().post('/api/keys').send({ groupId, name: 'key', value }).expect(201);
    const putAs = (key: string, groups: string | null): supertest.Test =>
      put({ 'api.access-groups': groups }).set('X-API-Key', key);

    it('name groups that exist, and are not emptied by a key', async () => {
      await put({ 'api.access-groups': `management, missing` }).expect(400);
      await put({ 'api.access-groups': '' }).expect(403);
      await put({ 'api.access-groups': ' , ' }).expect(403);
    });

    it('do not shut out the caller, whoever else has a key of theirs', async () => {
      const ops = await createGroup('ops');
      const refusal = {
        path: 'settings.api.access-groups',
        message: expect.stringMatching(/^must include management, the group of this request's key/),
      };
      const answer = await put({ 'api.access-groups': ops, 'server.name': 'Mine' }).expect(400);
      expect(answer.body).toMatchObject({ code: 'validation_failed', details: [refusal] });
      await createKey(ops, 'key-of-the-group-ops');
      await put({ 'api.access-groups': ops }).expect(400);
      expect([await value('api.access-groups'), await value('server.name')]).toEqual(['management', 'Wherry']);
    });

    it('are taken away from a group by a key of another one, and the default shuts out no caller either', async () => {
      const ops = await createGroup('ops');
      await createKey(ops, 'key-of-the-group-ops');
      await put({ 'api.access-groups': `${ops}, management` }).expect(200);
      await putAs('key-of-the-group-ops', ops).expect(200);
      await api().get('/api/settings').expect(401);
      await putAs('key-of-the-group-ops', null).expect(400);
      await putAs('key-of-the-group-ops', `management,${ops}`).expect(200);
      await put({ 'api.access-groups': null }).expect(200);
      await api().get('/api/settings').set('X-API-Key', 'key-of-the-group-ops').expect(401);
      expect(await value('api.access-groups')).toBe('management');
    });
  });

  it('reach the log database at once', async () => {
    const at = (timestamp: number) => ({
      functionName: 'f',
      requestId: 'r',
      level: 'log' as const,
      message: 'm',
      args: null,
      sequence: 0,
      timestamp,
    });
    manager.telemetry.write(Array.from({ length: 150 }, (_, index) => at(manager.clock.now() + index)));
    await put({ 'log.trimming.max-per-function': '100' }).expect(200);
    expect(await manager.telemetry.query({ limit: 1000 })).toHaveLength(100);
  });
});

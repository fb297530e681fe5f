import { conflict } from '@wherry/core/errors.ts';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';

/** More often than a change is tried again. */
const OFTEN = 60;

describe('a change of an object that somebody else keeps changing', () => {
  let manager: TestManager;
  let ids: Record<string, string>;

  const send = async (method: string, path: string, body?: object): Promise<{ status: number; json: unknown }> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await rawRequest(manager, { method, path, headers, key: KEY }, body && JSON.stringify(body));
    return { status: answer.status, json: JSON.parse(answer.body.toString()) };
  };
  const make = async (path: string, body: object): Promise<string> => {
    const { json } = await send('POST', path, body);
    return ((json as { function?: { id: string } }).function ?? (json as { id: string })).id;
  };

  beforeAll(async () => {
    manager = await startTestManager();
    ids = {
      source: await make('/api/sources', { name: 'app', type: 'manual' }),
      function: await make('/api/functions', { name: 'f', handler: 'app/f.ts', route: '/f', methods: ['GET'] }),
      group: await make('/api/key-groups', { name: 'team' }),
      secret: await make('/api/secrets', { name: 'TOKEN', value: 'x', scope: 'global' }),
    };
    await send('PUT', '/api/sources/app/files/f.ts', { content: 'x' });
  });
  afterAll(() => manager.stop());

  it.each([
    ['PUT', '/api/functions/<function>/disable', undefined],
    ['PUT', '/api/functions/<function>', { name: 'g', handler: 'app/f.ts', route: '/f', methods: ['GET'] }],
    ['PUT', '/api/sources/<source>', { enabled: false }],
    ['PUT', '/api/sources/<source>/files/f.ts', { content: 'y' }],
    ['DELETE', '/api/sources/<source>/files/f.ts', undefined],
    ['PUT', '/api/key-groups/<group>', { description: 'other' }],
    ['PUT', '/api/secrets/<secret>', { comment: 'other' }],
    ['PUT', '/api/settings', { settings: { 'server.name': 'Other' } }],
  ])('is a 409 that says so: %s %s', async (method, path, body) => {
    for (let time = 0; time < OFTEN; time += 1) manager.store.failNext('update', conflict('stale'));
    const answer = await send(
      method,
      path.replace(/<(\w+)>/, (_, name: string) => ids[name] ?? ''),
      body,
    );
    expect(answer).toMatchObject({
      status: 409,
      json: { code: 'conflict', error: 'The object keeps changing; try again.' },
    });
  });
});

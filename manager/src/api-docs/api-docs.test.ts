import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import supertest from 'supertest';
import { Browser, createUser } from '../testing/browser.ts';
import { KEY, rawRequest, startTestManager, type TestManager } from '../testing/test-manager.ts';

describe('the page of the OpenAPI document', () => {
  let manager: TestManager;
  beforeAll(async () => {
    manager = await startTestManager();
  });
  afterAll(() => manager.stop());

  it('is open to a browser without credentials, whose answer is 401, and to a key and a session', async () => {
    const guest = await supertest(manager.server).get('/api/docs').expect(401);
    const byKey = await supertest(manager.server).get('/api/docs').set('X-API-Key', KEY).expect(200);
    await createUser(manager, 'first@example.com');
    await createUser(manager, 'reader@example.com', 'viewer');
    const bySession = await (await new Browser(manager).signIn('reader@example.com')).send('get', '/api/docs');
    expect(bySession.status).toBe(200);
    expect(guest.headers['www-authenticate']).toBe('ApiKey');
    expect(guest.text).toContain('<!doctype html>');
    expect([byKey.text, bySession.text]).toEqual([guest.text, guest.text]);
  });

  it('M10: answers a bad key as every endpoint does, and counts it', async () => {
    const statuses = [];
    for (let sent = 0; sent <= 20; sent += 1)
      statuses.push((await supertest(manager.server).get('/api/docs').set('X-API-Key', 'not-a-key')).status);
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429]);
  });

  it('M6: has a policy without anything inline, of other origins, or in frames', async () => {
    const { headers, text } = await supertest(manager.server).get('/api/docs');
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    expect(text).not.toMatch(/<script(?! src="\/api\/docs\/)|<style| on\w+=| style=|https?:/);
  });

  it('loads files that a browser keeps and validates', async () => {
    const page = await supertest(manager.server).get('/api/docs');
    const files = Array.from(page.text.matchAll(/"(\/api\/docs\/[^"]+)"/g), ([, path]) => path ?? '');
    expect(files).toHaveLength(4);
    for (const path of files) {
      const { status, headers, body } = await rawRequest(manager, { method: 'GET', path, key: undefined });
      expect([path, status, headers['content-length'], headers['cache-control']]).toEqual([
        path,
        200,
        String(body.length),
        'no-cache',
      ]);
      expect(headers['content-type']).toBe(`text/${path.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`);
      expect(headers['x-content-type-options']).toBe('nosniff');
      const again = { 'if-none-match': headers.etag ?? '' };
      const kept = await rawRequest(manager, { method: 'GET', path, headers: again, key: undefined });
      expect([kept.status, kept.body.length]).toEqual([304, 0]);
      const head = await rawRequest(manager, { method: 'HEAD', path, key: undefined });
      expect([head.status, head.body.length]).toEqual([200, 0]);
    }
    const library = fileURLToPath(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'));
    const sent = await rawRequest(manager, { method: 'GET', path: '/api/docs/swagger-ui-bundle.js' });
    expect(sent.body.equals(readFileSync(library))).toBe(true);
  });

  it.each(['api-docs.html', 'package.json', 'constructor', '..%2fdocs-files.ts', '%2e%2e%2findex.html'])(
    'has no other file: %s',
    async (name) => {
      await supertest(manager.server).get(`/api/docs/${name}`).expect(404);
    },
  );
});

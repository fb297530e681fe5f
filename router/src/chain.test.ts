import { Harness, GOOD_KEY, routerFunction, type Answer } from './testing/harness.ts';
import type { IncomingMessage } from 'node:http';

describe('the way of a call', () => {
  let harness: Harness;
  let seen: IncomingMessage[];

  beforeEach(async () => {
    harness = await Harness.start();
    seen = [];
    const echo = await harness.instance((req, res) => {
      seen.push(req);
      res.setHeader('X-From', 'function');
      req.pipe(res);
    });
    await harness.serve([
      routerFunction({ id: 'open', route: '/open/:name', instances: [echo] }),
      routerFunction({ id: 'guarded', route: '/guarded', keyGroups: ['team'], instances: [echo] }),
    ]);
  });
  afterEach(() => harness.stop());

  it('carries a call to an instance and the answer back', async () => {
    const answer = await harness.call('/run/open/a%20b?x=%2f&y', { method: 'POST', body: 'hello' });
    expect(answer.status).toBe(200);
    expect(answer.body).toBe('hello');
    expect(answer.headers['x-from']).toBe('function');
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen[0]?.url).toBe('/open/a%20b?x=%2f&y');
  });

  it('requires a key before anything reaches a guarded function', async () => {
    const without: Answer = await harness.call('/run/guarded');
    expect([without.status, without.error.code]).toEqual([401, 'unauthorized']);
    expect(seen).toHaveLength(0);
    const good = await harness.call('/run/guarded', { headers: { 'X-API-Key': GOOD_KEY } });
    expect(good.status).toBe(200);
    expect(seen[0]?.headers).not.toHaveProperty('x-api-key');
  });
});

import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@wherry/testing/eventually.ts';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';
import { ViewBudget } from './view-budget.ts';

const MIB = 1024 * 1024;

describe('M10: files that are answered as JSON', () => {
  it('have 128 MiB together, at four times their size; one that is larger goes alone', () => {
    const budget = new ViewBudget();
    const back = [budget.take(16 * MIB), budget.take(16 * MIB)];
    expect(() => budget.take(MIB)).toThrow(expect.objectContaining({ code: 'unavailable' }));
    back[0]?.();
    back[0]?.();
    expect(() => budget.take(17 * MIB)).toThrow(expect.objectContaining({ code: 'unavailable' }));
    back[1]?.();
    const alone = budget.take(50 * MIB);
    expect(() => budget.take(MIB)).toThrow(expect.objectContaining({ code: 'unavailable' }));
    alone();
    budget.take(32 * MIB)();
  });

  describe('over HTTP', () => {
    let manager: TestManager;
    beforeEach(async () => void (manager = await startTestManager()));
    afterEach(() => manager.stop());

    const path = (name: string): string => `/api/sources/app/files/${name}`;
    const get = (name: string, accept: string): Promise<RawAnswer> =>
      rawRequest(manager, { method: 'GET', path: path(name), headers: { accept } });
    /** An answer whose body is never read. */
    async function open(name: string): Promise<IncomingMessage> {
      const { port } = manager.server.address() as AddressInfo;
      const sent = request({
        host: '127.0.0.1',
        port,
        path: path(name),
        headers: { 'x-api-key': KEY, accept: 'application/json' },
      });
      sent.on('error', () => undefined);
      sent.end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return answer.on('error', () => undefined);
    }

    it('hold their share until the answer is read or its caller leaves; bytes and small files need none of it', async () => {
      const json = { 'content-type': 'application/json' };
      await rawRequest(
        manager,
        { method: 'POST', path: '/api/sources', headers: json },
        JSON.stringify({ name: 'app', type: 'manual' }),
      );
      for (const [name, size] of [
        ['large', 20 * MIB],
        ['small', 1000],
      ] as const) {
        const put = await rawRequest(
          manager,
          { method: 'PUT', path: path(name), headers: { 'content-type': 'text/plain' } },
          Buffer.alloc(size, 'x'),
        );
        expect(put.status).toBe(201);
      }
      const unread = await open('large');
      expect(unread.statusCode).toBe(200);
      const refused = await get('large', 'application/json');
      expect([
        refused.status,
        refused.headers['retry-after'] !== undefined,
        JSON.parse(refused.body.toString()),
      ]).toMatchObject([503, true, { code: 'unavailable' }]);
      expect((await get('small', 'application/json')).status).toBe(200);
      expect((await get('large', '*/*')).status).toBe(200);
      unread.destroy();
      await eventually(async () => expect((await get('large', 'application/json')).status).toBe(200));
      // One that is read gives its share back, too.
      await eventually(async () => expect((await get('large', 'application/json')).status).toBe(200));
    });
  });
});

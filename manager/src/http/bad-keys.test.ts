import { PEER_HEADER } from '@wherry/core/feed/invocation.ts';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';

const BAD = 'a-key-that-nobody-has';

describe('bad keys on the management port (M10)', () => {
  let manager: TestManager;
  afterEach(() => manager.stop());

  const sendWith = (headers: Record<string, string>, path = '/api/functions'): Promise<RawAnswer> =>
    rawRequest(manager, { method: 'GET', path, headers: { 'x-api-key': BAD, ...headers } });
  const statuses = async (count: number, headers: Record<string, string> = {}): Promise<number[]> => {
    const found: number[] = [];
    for (let call = 0; call < count; call += 1) found.push((await sendWith(headers)).status);
    return found;
  };
  const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

  it('are throttled after 20 in a minute, wherever they are shown, and a good key never is', async () => {
    manager = await startTestManager();
    expect(await statuses(19)).toEqual(times(19, 401));
    expect((await sendWith({}, '/api/nothing')).status).toBe(401);
    for (const path of ['/api/functions', '/api/nothing', '/api/functions/%ff']) {
      const answer = await sendWith({}, path);
      expect([path, answer.status, answer.headers['retry-after']]).toEqual([path, 429, '60']);
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        code: 'throttled',
        requestId: answer.headers['x-request-id'],
      });
    }
    expect(await statuses(30, { 'x-api-key': KEY })).toEqual(times(30, 200));
    await manager.clock.advance(60_000);
    expect(await statuses(1)).toEqual([401]);
  });

  it('are no valid ones, although those are refused where only a session counts', async () => {
    manager = await startTestManager();
    const sessions = Array.from({ length: 25 }, () => sendWith({ 'x-api-key': KEY }, '/api/auth/session'));
    expect((await Promise.all(sessions)).map(({ status }) => status)).toEqual(times(25, 401));
    expect(await statuses(1)).toEqual([401]);
  });

  it('are not what shows no key', async () => {
    manager = await startTestManager();
    expect(await statuses(30, { 'x-api-key': '' })).toEqual(times(30, 401));
    expect(await statuses(1)).toEqual([401]);
  });

  it('count by the address that trusted proxies report, and nobody else', async () => {
    manager = await startTestManager({ trustedProxies: ['127.0.0.0/8', '::1'] });
    expect(await statuses(21, { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' })).toEqual([...times(20, 401), 429]);
    expect(await statuses(1, { 'x-forwarded-for': '198.51.100.9, 203.0.113.7' })).toEqual([429]);
    for (const same of ['::ffff:203.0.113.7', '::ffff:cb00:7107', '::FFFF:CB00:7107', '0:0:0:0:0:ffff:cb00:7107'])
      expect(await statuses(1, { 'x-forwarded-for': same })).toEqual([429]);
    expect(await statuses(1, { 'x-forwarded-for': '203.0.113.8' })).toEqual([401]);
    await manager.stop();
    manager = await startTestManager();
    const forged = (last: number): Record<string, string> => ({
      'x-forwarded-for': `203.0.113.${last}`,
      [PEER_HEADER]: `203.0.113.${last}`,
    });
    for (let call = 0; call < 20; call += 1) await sendWith(forged(call));
    expect(await statuses(1, forged(99))).toEqual([429]);
  });

  it('count by the address that the router reports, where it alone can connect', async () => {
    manager = await startTestManager({ isBehindRouter: true });
    expect(await statuses(21, { [PEER_HEADER]: '203.0.113.1' })).toEqual([...times(20, 401), 429]);
    expect(await statuses(1, { [PEER_HEADER]: '203.0.113.2' })).toEqual([401]);
    await rawRequest(manager, {
      method: 'DELETE',
      path: '/api/functions/x',
      headers: { [PEER_HEADER]: '203.0.113.2' },
    });
    expect((await manager.audited()).at(-1)).toMatchObject({ clientAddress: '203.0.113.2' });
  });
});

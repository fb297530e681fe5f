import supertest from 'supertest';
import { logEntry } from '@wherry/testing/log-entry.ts';
import { LOG_LEVELS, type LogEntry } from '@wherry/core/ports/telemetry.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';
import type { LogPage } from './log-schemas.ts';

describe('logs', () => {
  let manager: TestManager;
  let id: string;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const page = async (path: string): Promise<LogPage['data']> =>
    ((await api().get(path).expect(200)).body as LogPage).data;
  const entry = (fields: Partial<LogEntry>): LogEntry =>
    logEntry({ functionName: id, requestId: 'r1', timestamp: Date.UTC(2026, 0, 1), ...fields });

  beforeAll(async () => {
    manager = await startTestManager();
    const created = await api()
      .post('/api/functions')
      .send({ name: 'f', handler: 'a/b.ts', route: '/f', methods: ['GET'] })
      .expect(201);
    id = (created.body as { function: { id: string } }).function.id;
    manager.telemetry.write(
      LOG_LEVELS.map((level, index) =>
        entry({ level, message: level, sequence: index, timestamp: Date.UTC(2026, 0, 1) + index + 0.25 }),
      ),
    );
    manager.telemetry.write([
      entry({ functionName: 'deleted-one', message: 'outlives', requestId: 'r2', args: '["a"]', timestamp: 0 }),
      ...Array.from({ length: 5 }, (_, sequence) =>
        entry({ functionName: 'deleted-two', message: String(sequence), sequence, timestamp: 1 }),
      ),
    ]);
  });
  afterAll(() => manager.stop());

  it('are shown newest first, with all of their fields', async () => {
    const { logs, pagination } = await page('/api/logs');
    expect(pagination).toEqual({ limit: 50, hasMore: false });
    expect(logs.map(({ message }) => message)).toEqual(
      [...LOG_LEVELS].reverse().concat(['4', '3', '2', '1', '0', 'outlives'] as never),
    );
    expect(logs.at(-1)).toEqual({
      id: expect.stringMatching(/^\d+$/),
      requestId: 'r2',
      functionId: 'deleted-one',
      level: 'log',
      message: 'outlives',
      args: '["a"]',
      sequence: 0,
      timestamp: '1970-01-01T00:00:00.000Z',
    });
  });

  it('are filtered by function, level and request', async () => {
    expect((await page(`/api/logs?functionId=${id}&level=error,%20exec_end`)).logs.map(({ level }) => level)).toEqual([
      'exec_end',
      'error',
    ]);
    expect((await page('/api/logs?requestId=r2')).logs).toHaveLength(1);
    expect((await page('/api/logs?functionId=deleted-one')).logs).toHaveLength(1);
  });

  it('are paged by following next, which keeps the filters', async () => {
    const seen: string[] = [];
    let next: string | undefined = '/api/logs?functionId=deleted-two&level=log,error&limit=2';
    let pages = 0;
    while (next !== undefined) {
      const { logs, pagination }: LogPage['data'] = await page(next);
      seen.push(...logs.map(({ message }) => message));
      expect(pagination.limit).toBe(2);
      expect(pagination.hasMore).toBe(pagination.next !== undefined);
      next = pagination.next;
      pages += 1;
      manager.telemetry.write([
        entry({ functionName: 'deleted-two', message: 'newer', timestamp: Date.UTC(2027, 0, 1) }),
      ]);
    }
    expect([seen, pages]).toEqual([['4', '3', '2', '1', '0'], 3]);
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=1.5',
    'limit=-1',
    'limit=ten',
    'limit=',
    'level=loud',
    'level=log,,error',
    'level=',
    'cursor=',
    'cursor=x',
    'cursor=%00',
    `cursor=${Buffer.from('[1,2]').toString('base64url')}`,
    `cursor=${Buffer.from('["a",1,2]').toString('base64url')}`,
    'function=x',
  ])('refuse ?%s with 400', async (query) => {
    await api().get(`/api/logs?${query}`).expect(400);
  });

  it.each(['missing', 'No_Id'])('answer 404 for the unknown function %s', async (unknown) => {
    await api().get(`/api/logs?functionId=${unknown}`).expect(404);
  });
});

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
    'cursor=1_2',
    'cursor=a_1_2',
    'cursor=1_2_3_4',
    'function=x',
    'search=',
    'search=%20%3D%3E%20',
    `search=${'x'.repeat(257)}`,
    `search=${'a+'.repeat(17)}`,
    `search=${'a-'.repeat(17)}`,
    'since=yesterday',
    'until=2026-01-01',
    'search=x&cursor=1',
  ])('refuse ?%s with 400', async (query) => {
    await api().get(`/api/logs?${query}`).expect(400);
  });

  describe('searched', () => {
    const found = async (search: string, more = ''): Promise<string[]> =>
      (await page(`/api/logs?functionId=searched&search=${encodeURIComponent(search)}${more}`)).logs.map(
        ({ requestId }) => requestId,
      );
    beforeAll(() => {
      const texts: [message: string, args: string | null, more?: Partial<LogEntry>][] = [
        ['Payment FAILED for user-42', null],
        ['payment done', '[{"orderId":"ab12","note":"two\\nlines"}]', { level: 'error' }],
        ['Überweisung', JSON.stringify(['C:\\new', 'tab\there'])],
        ['it said "quoted" AND (nothing) OR * NEAR', null],
        ['payments', null, { functionName: 'searched-2' }],
        ['payment elsewhere', null, { functionName: 'searched-2' }],
      ];
      manager.telemetry.write(
        texts.map(([message, args, more], index) =>
          entry({ functionName: 'searched', requestId: String(index), message, args, timestamp: 100 + index, ...more }),
        ),
      );
    });

    it.each([
      ['one word, in any case', 'PAYMENT', ['1', '0']],
      ['all of the words, in any order', 'failed payment', ['0']],
      ['not a part of a word', 'pay', []],
      ['parts of what is joined, together', 'user-42', ['0']],
      ['not parts that are apart', 'user-failed', []],
      ['a word of the arguments, a key too', 'orderid AB12', ['1']],
      ['message and arguments together', 'done lines', ['1']],
      ['what follows an escape of JSON', 'new here', ['2']],
      ['other scripts', 'überweisung', ['2']],
      ["the words of the index's own language", 'AND OR NEAR', ['3']],
      ['a quote', '"quoted"', ['3']],
      ['words beside signs', '=> payment *', ['1', '0']],
      ['neither the name of a function nor a level', 'searched', []],
      ['a word after a NUL', 'nothing\0quoted', ['3']],
    ])('find %s: %s', async (_what, search, requests) => {
      expect(await found(search)).toEqual(requests);
    });

    it.each([
      ['&level=error', ['1']],
      ['&requestId=0', ['0']],
      ['&requestId=3', []],
      ['&since=1970-01-01T00:00:00.101Z', ['1']],
      ['&until=1970-01-01T00:00:00.101Z', ['0']],
    ])('are filtered too: %s', async (more, requests) => {
      expect(await found('payment', more)).toEqual(requests);
    });

    it('are found in all functions, of which one may begin with the name of another', async () => {
      const { logs } = await page('/api/logs?search=payment');
      expect(logs.map(({ functionId, requestId }) => [functionId, requestId])).toEqual([
        ['searched-2', '5'],
        ['searched', '1'],
        ['searched', '0'],
      ]);
    });

    it('are paged without repeats and gaps while entries arrive, late ones too, and others are removed', async () => {
      const name = 'paged';
      const write = (message: string, timestamp: number): void =>
        manager.telemetry.write([entry({ functionName: name, message: `needle ${message}`, timestamp })]);
      for (let index = 0; index < 7; index += 1) write(String(index), 1000 + index);
      const seen: string[] = [];
      let next: string | undefined = `/api/logs?functionId=${name}&search=needle&limit=3`;
      while (next !== undefined) {
        const { logs, pagination }: LogPage['data'] = await page(next);
        seen.push(...logs.map(({ message }) => message));
        next = pagination.next;
        write('newer', 9000);
        write('late', 1);
        // The oldest two age out.
        manager.telemetry.retain({
          maxPerFunction: 100_000,
          retentionSeconds: (manager.clock.now() - 1002) / 1000,
          intervalSeconds: 300,
        });
      }
      expect(seen).toEqual(['6', '5', '4', '3', '2'].map((index) => `needle ${index}`));
    });
  });

  it('are bounded by time: since counts, until does not', async () => {
    manager.telemetry.write(
      [0, 0.5, 1, 2].map((ms) => entry({ functionName: 'timed', message: String(ms), timestamp: 5000 + ms })),
    );
    const between = (query: string): Promise<string[]> =>
      page(`/api/logs?functionId=timed&${query}`).then(({ logs }) => logs.map(({ message }) => message));
    expect(await between('since=1970-01-01T00:00:05.001Z')).toEqual(['2', '1']);
    expect(await between('until=1970-01-01T00:00:05.001Z')).toEqual(['0.5', '0']);
    expect(await between('since=1970-01-01T01:00:05.000%2B01:00&until=1970-01-01T00:00:05.002Z')).toEqual([
      '1',
      '0.5',
      '0',
    ]);
  });

  it('of several levels and all functions are one list, in order', async () => {
    manager.telemetry.write(
      Array.from({ length: 12 }, (_, index) =>
        entry({
          functionName: `f-${index % 2}`,
          level: (['trace', 'stderr', 'debug'] as const)[index % 3]!,
          message: String(index),
          timestamp: Date.UTC(2030, 0, 1) + index,
        }),
      ),
    );
    const seen: string[] = [];
    let next: string | undefined = '/api/logs?level=trace,stderr&limit=3&since=2030-01-01T00:00:00Z';
    while (next !== undefined) {
      const { logs, pagination }: LogPage['data'] = await page(next);
      seen.push(...logs.map(({ message }) => message));
      next = pagination.next;
    }
    expect(seen).toEqual(['10', '9', '7', '6', '4', '3', '1', '0']);
  });

  it('are deleted by function, more of them than one step removes, and of no other', async () => {
    const of = (functionName: string, count: number): LogEntry[] =>
      Array.from({ length: count }, (_, sequence) => entry({ functionName, sequence, timestamp: 7 }));
    manager.telemetry.write([...of('unloved', 4500), ...of('unloved-too', 2)]);
    const { body } = await api().delete('/api/logs/unloved').expect(200);
    expect(body).toEqual({ data: { deleted: 4500, functionId: 'unloved' } });
    await api().delete('/api/logs/unloved').expect(404);
    await api().delete('/api/logs/No_Id').expect(404);
    expect((await page('/api/logs?functionId=unloved-too')).logs).toHaveLength(2);
    const records = (await manager.audited()).filter(({ action }) => action === 'logs.delete');
    expect(records.map(({ object, result }) => [object, result])).toEqual([
      [{ kind: 'Function', id: 'unloved', name: null }, 'ok'],
      [{ kind: 'Function', id: 'unloved', name: null }, 'failed'],
      [{ kind: 'Function', id: null, name: null }, 'failed'],
    ]);
  });

  it('of a function without any are none to delete', async () => {
    const created = await api()
      .post('/api/functions')
      .send({ name: 'silent', handler: 'a/b.ts', route: '/silent', methods: ['GET'] })
      .expect(201);
    const silent = (created.body as { function: { id: string } }).function.id;
    const { body } = await api().delete(`/api/logs/${silent}`).expect(200);
    expect(body).toEqual({ data: { deleted: 0, functionId: silent } });
  });

  it.each(['missing', 'No_Id'])('answer 404 for the unknown function %s', async (unknown) => {
    await api().get(`/api/logs?functionId=${unknown}`).expect(404);
  });
});

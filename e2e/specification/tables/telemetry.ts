import { each, type Table } from '../row.ts';
import { TIME } from '../patterns.ts';

const ENTRY = {
  ...{ id: expect.any(String), requestId: expect.any(String), functionId: '<function>', level: expect.any(String) },
  ...{ message: expect.any(String), sequence: expect.any(Number), timestamp: TIME },
};
const entry = (fields: object): unknown => expect.objectContaining({ ...ENTRY, ...fields });

const HANDLER = `
export default (c) => {
  if (c.req.query('act') === 'throw') throw new Error('on purpose');
  console.log('a sentence of ninety-nine words', 1, { two: [3] });
  console.warn('a warning');
  return c.text('talked');
};`;

/** What calls leave: log entries and metrics. */
export const telemetry: Table = {
  title: 'Logs and metrics',
  inCluster: true,
  rows: [
    {
      says: 'POST /api/sources',
      sends: ['POST', '/api/sources', { name: 'telemetry', type: 'manual' }],
      answers: 201,
      keeps: { source: 'id' },
    },
    { says: 'PUT the handler', sends: ['PUT', '/api/sources/<source>/files/h.js', HANDLER], answers: 201 },
    {
      says: 'POST /api/functions',
      sends: [
        'POST',
        '/api/functions',
        {
          ...{ name: 'talks', handler: 'telemetry/h.js', route: '/telemetry', methods: ['GET', 'POST'] },
          maxRequestBytes: 10,
        },
      ],
      answers: 201,
      keeps: { function: 'function.id' },
    },
    {
      says: 'Metrics are counted in intervals',
      sends: ['PUT', '/api/settings', { settings: { 'metrics.aggregation-interval-seconds': '10' } }],
      answers: 200,
    },
    {
      says: 'GET /api/logs?functionId= of a function without entries',
      sends: ['GET', '/api/logs?functionId=<function>&level=stdout'],
      answers: 200,
      whole: { data: { logs: [], pagination: { limit: 50, hasMore: false } } },
    },
    {
      says: 'A function is called at /run/<function_route>',
      sends: ['GET', '/run/telemetry?secret=in-the-query'],
      headers: { origin: 'https://site.example' },
      answers: 200,
      text: 'talked',
      keeps: { request: '@x-request-id' },
      soon: true,
    },
    {
      says: 'GET /api/logs?requestId= → {data: {logs, pagination}}, newest first; entries have id, requestId, functionId, level, message, args, sequence, timestamp',
      sends: ['GET', '/api/logs?requestId=<request>&functionId=<function>'],
      answers: 200,
      body: {
        data: {
          logs: expect.arrayContaining([
            entry({ level: 'exec_start', message: 'GET /telemetry', requestId: '<request>' }),
            entry({ level: 'log', message: 'a sentence of ninety-nine words', args: '[1,{"two":[3]}]' }),
            entry({ level: 'warn', message: 'a warning', args: null }),
            entry({ level: 'exec_end', message: expect.stringMatching(/^\d+(\.\d{1,3})?ms$/) }),
          ]),
          pagination: { limit: 50, hasMore: false },
        },
      },
      hides: ['in-the-query'],
      soon: true,
    },
    {
      says: 'level: comma-separated list from the log levels',
      sends: ['GET', '/api/logs?functionId=<function>&requestId=<request>&level=warn,error'],
      answers: 200,
      body: { data: { logs: [entry({ level: 'warn' })] } },
      keeps: { time: 'data.logs.0.timestamp', entry: 'data.logs.0.id' },
    },
    {
      says: 'exec_start: args {origin, keyGroup, contentLength}',
      sends: ['GET', '/api/logs?requestId=<request>&level=exec_start'],
      answers: 200,
      body: { data: { logs: [{ args: expect.stringMatching(/"origin":"https:\/\/site\.example"/) }] } },
    },
    {
      says: 'search looks for its words case-insensitively in message and args',
      sends: ['GET', '/api/logs?requestId=<request>&search=WORDS%20ninety'],
      answers: 200,
      body: { data: { logs: [entry({ level: 'log' })] } },
    },
    {
      says: 'limit and cursor: pagination with limit, hasMore and next, a relative path',
      sends: ['GET', '/api/logs?functionId=<function>&requestId=<request>&limit=1'],
      answers: 200,
      body: {
        data: {
          logs: [entry({})],
          pagination: { limit: 1, hasMore: true, next: expect.stringMatching(/^\/api\/logs\?.*cursor=/) },
        },
      },
      keeps: { newest: 'data.logs.0.id', next: 'data.pagination.next' },
    },
    {
      says: 'the next page begins after the last entry',
      sends: ['GET', '<next>'],
      answers: 200,
      body: { data: { logs: [entry({ requestId: '<request>' })], pagination: { limit: 1 } } },
      hides: ['"id":"<newest>"'],
    },
    {
      says: 'since is inclusive',
      sends: ['GET', '/api/logs?requestId=<request>&level=warn&since=<time>'],
      answers: 200,
      body: { data: { logs: [{ id: '<entry>' }] } },
    },
    {
      says: 'until is exclusive',
      sends: ['GET', '/api/logs?requestId=<request>&level=warn&until=<time>'],
      answers: 200,
      body: { data: { logs: [] } },
    },
    {
      says: 'A call that throws …',
      sends: ['GET', '/run/telemetry?act=throw'],
      answers: 500,
      code: 'handler_error',
      keeps: { failed: '@x-request-id' },
    },
    {
      says: '… has exec_end "<n>ms (error)"',
      sends: ['GET', '/api/logs?requestId=<failed>&level=exec_end'],
      answers: 200,
      body: { data: { logs: [{ message: expect.stringMatching(/^\d+(\.\d{1,3})?ms \(error\)$/) }] } },
      soon: true,
    },
    {
      says: 'A call that is refused …',
      sends: ['POST', '/run/telemetry?secret=in-the-query', 'eleven bytes'],
      answers: 413,
      code: 'too_large',
      keeps: { refused: '@x-request-id' },
    },
    {
      says: '… has exec_reject "<METHOD> <path>" with args {reason}, and no other entry',
      sends: ['GET', '/api/logs?requestId=<refused>'],
      answers: 200,
      body: {
        data: { logs: [entry({ level: 'exec_reject', message: 'POST /telemetry', args: '{"reason":"too_large"}' })] },
      },
      hides: ['in-the-query'],
      soon: true,
    },
    ...each(
      [
        ...['level=loud', 'level=', 'cursor=nonsense', 'since=yesterday', 'search=', 'search=...'],
        ...['limit=0', 'limit=1001', 'limit=ten', 'limit=1.5'],
      ],
      (query) => ({
        says: `Bad level, limit or cursor → 400: ${query}`,
        sends: ['GET', `/api/logs?${query}`],
        answers: 400,
        code: 'validation_failed',
        body: { details: [{ path: query.split('=')[0], message: expect.any(String) }] },
        ...(query.startsWith('limit') && { limit: 'Entries of a page of logs or audit records' }),
      }),
    ),
    {
      says: 'search: at most 16 words',
      sends: ['GET', `/api/logs?search=${Array.from({ length: 17 }, (_, at) => `w${at}`).join('%20')}`],
      answers: 400,
      code: 'validation_failed',
      limit: 'Words of a search in logs',
    },
    {
      says: 'limit: integer 1-1000',
      sends: ['GET', '/api/logs?limit=1000'],
      answers: 200,
      body: { data: { pagination: { limit: 1000 } } },
    },
    ...each(['/api/logs?functionId=nobodys', '/api/logs/stream?functionId=nobodys'], (target) => ({
      says: `unknown function → 404: ${target}`,
      sends: ['GET', target],
      answers: 404,
      code: 'not_found',
    })),
    {
      says: 'GET /api/logs/stream → server-sent events, one entry per event; Last-Event-ID resumes; the entry’s id is the event’s id',
      sends: ['GET', '/api/logs/stream?functionId=<function>&level=warn'],
      headers: { 'last-event-id': '0' },
      answers: 200,
      with: { 'content-type': expect.stringContaining('text/event-stream') },
      text: /^id: \d+\ndata: \{.*"message":"a warning"/m,
      readsUntil: 'a warning',
    },
    ...each(['level=loud', 'colour=red'], (query) => ({
      says: `GET /api/logs/stream: not ${query}`,
      sends: ['GET', `/api/logs/stream?${query}`],
      answers: 400,
      code: 'validation_failed',
    })),

    // Metrics.
    {
      says: 'GET /api/metrics?resolution=&functionId= → {data: {metrics, functionId, resolution, summary}}',
      sends: ['GET', '/api/metrics?resolution=days&functionId=<function>'],
      answers: 200,
      body: {
        data: {
          ...{ functionId: '<function>', resolution: 'days' },
          metrics: expect.arrayContaining([
            {
              ...{
                timestamp: expect.stringMatching(/T00:00:00\.000Z$/),
                executionCount: expect.any(Number),
                errorCount: 1,
              },
              ...{ avgTimeMs: expect.any(Number), maxTimeMs: expect.any(Number), p50TimeMs: expect.any(Number) },
              ...{ p95TimeMs: expect.any(Number), p99TimeMs: expect.any(Number) },
            },
          ]),
          summary: {
            ...{ totalExecutions: expect.any(Number), totalErrors: 1, avgExecutionTime: expect.any(Number) },
            ...{ maxExecutionTime: expect.any(Number), periodCount: expect.any(Number) },
          },
        },
      },
      // Metrics are sent when an interval ends.
      soon: 30_000,
    },
    ...each(['minutes', 'hours', 'days'], (resolution) => ({
      says: `resolution: ${resolution}; functionId omitted means global metrics`,
      sends: ['GET', `/api/metrics?resolution=${resolution}`],
      answers: 200,
      body: { data: { functionId: null, resolution, summary: { totalErrors: expect.any(Number) } } },
    })),
    {
      says: 'groupBy=function returns {data: {functions: {<id>: metrics[]}, resolution}}',
      sends: ['GET', '/api/metrics?resolution=days&groupBy=function'],
      answers: 200,
      body: { data: { resolution: 'days', functions: { '<function>': [{ errorCount: 1 }] } } },
    },
    {
      says: 'since, until bound the periods; those without calls are omitted',
      sends: ['GET', '/api/metrics?resolution=days&functionId=<function>&until=2026-01-01T00:00:00Z'],
      answers: 200,
      body: { data: { metrics: [], summary: { totalExecutions: 0, periodCount: 0 } } },
    },
    ...each(
      ['', 'resolution=weeks', 'resolution=days&since=yesterday', 'resolution=days&groupBy=key', 'resolution=days&x=1'],
      (query) => ({
        says: `resolution required: minutes, hours or days: not ${query}`,
        sends: ['GET', `/api/metrics?${query}`],
        answers: 400,
        code: 'validation_failed',
      }),
    ),
    {
      says: 'groupBy=function (without functionId)',
      sends: ['GET', '/api/metrics?resolution=days&groupBy=function&functionId=<function>'],
      answers: 400,
      code: 'validation_failed',
    },
    {
      says: '404: an unknown id in a filter',
      sends: ['GET', '/api/metrics?resolution=days&functionId=nobodys'],
      answers: 404,
      code: 'not_found',
    },

    { says: 'DELETE /api/functions/:id', sends: ['DELETE', '/api/functions/<function>'], answers: 204 },
    {
      says: 'Logs outlive their function until they are trimmed by age',
      sends: ['GET', '/api/logs?functionId=<function>&level=warn&limit=1'],
      answers: 200,
      body: { data: { logs: [{ message: 'a warning' }] } },
    },
    {
      says: 'DELETE /api/logs/:functionId → {data: {deleted, functionId}}: all logs of a function',
      sends: ['DELETE', '/api/logs/<function>'],
      answers: 200,
      whole: { data: { deleted: expect.any(Number), functionId: '<function>' } },
    },
    {
      says: '404: an unknown id in a path',
      sends: ['DELETE', '/api/logs/nobodys'],
      answers: 404,
      code: 'not_found',
    },
    {
      says: 'The setting’s default',
      sends: ['PUT', '/api/settings', { settings: { 'metrics.aggregation-interval-seconds': null } }],
      answers: 200,
    },
  ],
};

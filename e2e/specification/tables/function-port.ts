import { each, type Table } from '../row.ts';
import { SHOWS } from './shows-calls.ts';

/** Code without a good revision; `missing` is another file. */
const BROKEN = [
  { name: 'missing', content: 'x', answers: 404, code: 'handler_not_found' },
  { name: 'syntax', content: 'export default (;', answers: 500, code: 'handler_syntax_error' },
  { name: 'export', content: 'export default 7;', answers: 500, code: 'handler_export_error' },
  {
    ...{ name: 'load', content: "throw new Error('at load');\nexport default () => {};" },
    ...{ answers: 500, code: 'handler_load_error' },
  },
];

export const functionPort: Table = {
  title: 'Function execution (function port)',
  inCluster: true,
  rows: [
    {
      says: 'POST /api/sources',
      sends: ['POST', '/api/sources', { name: 'port', type: 'manual' }],
      answers: 201,
      keeps: { source: 'id' },
    },
    { says: 'PUT the handler', sends: ['PUT', '/api/sources/<source>/files/shows.js', SHOWS], answers: 201 },
    ...each(
      [
        ['open', { route: '/port/open/:id/*', methods: ['GET', 'POST'], timeoutSeconds: 1, maxRequestBytes: 10 }],
        ['literal', { route: '/port/open/literal/*', methods: ['PUT'] }],
        ['parameter', { route: '/port/rest/:id', methods: ['PUT'] }],
        ['rest', { route: '/port/rest/*', methods: ['DELETE', 'OPTIONS'] }],
      ] as const,
      ([name, fields]) => ({
        says: `POST /api/functions: ${name}`,
        sends: [
          'POST',
          '/api/functions',
          { name, handler: name === 'open' ? 'port/shows.js' : 'port/none.js', ...fields },
        ],
        answers: 201,
        keeps: { [name]: 'function.id' },
      }),
    ),
    ...each(BROKEN, ({ name, content }) => [
      { says: `PUT ${name}.js`, sends: ['PUT', `/api/sources/<source>/files/${name}.js`, content], answers: 201 },
      {
        says: `POST /api/functions: ${name}`,
        sends: [
          'POST',
          '/api/functions',
          {
            name,
            handler: `port/${name}.${name === 'missing' ? 'ts' : 'js'}`,
            route: `/port/${name}`,
            methods: ['GET'],
          },
        ],
        answers: 201,
      },
    ]),
    {
      says: 'GET /api/functions/:id: the function is ready',
      sends: ['GET', '/api/functions/<open>'],
      answers: 200,
      body: { function: { status: { ready: true, reason: 'Ready' } } },
      soon: true,
    },
    {
      says: '`/run/<route>` with the function’s configured methods; the handler sees path, parameters and query',
      sends: ['GET', '/run/port/open/a%20b/c/d?x=1&x=2'],
      answers: 200,
      body: {
        ...{ method: 'GET', path: '/port/open/a b/c/d', params: { id: 'a b', '*': 'c/d' }, group: null },
      },
      soon: true,
    },
    {
      says: 'Request and response bodies are defined by the function',
      sends: ['POST', '/run/port/open/a', 'ten bytes.'],
      answers: 200,
      body: { method: 'POST', params: { id: 'a', '*': '' }, body: 'ten bytes.' },
    },
    {
      says: 'One trailing slash of a request is ignored',
      sends: ['GET', '/run/port/open/a/'],
      answers: 200,
      body: { params: { id: 'a', '*': '' } },
    },
    {
      says: 'body too large: 413',
      sends: ['POST', '/run/port/open/a', 'eleven bytes'],
      answers: 413,
      code: 'too_large',
      limit: 'Body of a request',
    },
    ...each(['/run/port/none', '/run/PORT/open/a', '/run/port/open', '/run'], (target) => ({
      says: `unknown route: 404 function_not_found (${target})`,
      sends: ['GET', target],
      answers: 404,
      code: 'function_not_found',
    })),
    ...each(['/api/functions', '/web/', '/'], (target) => ({
      says: `The function port serves /run/* alone: ${target}`,
      sends: ['GET', target],
      port: 'function' as const,
      answers: 404,
      code: 'function_not_found',
    })),
    {
      says: 'the route exists, the method does not: 405 with Allow; HEAD is listed where GET is',
      sends: ['DELETE', '/run/port/open/a'],
      answers: 405,
      code: 'method_not_allowed',
      with: { allow: 'GET, HEAD, POST' },
    },
    ...each(
      [
        ['/run/port/open/literal/a', 'PUT', 'literal over parameter'],
        ['/run/port/rest/a', 'PUT', 'parameter over *'],
        ['/run/port/rest/a/b', 'DELETE, OPTIONS', '* matches the rest of the path'],
        ['/run/port/rest', 'DELETE, OPTIONS', '* matches an empty rest'],
      ] as const,
      ([target, allow, rule]) => ({
        says: `Precedence: ${rule}; less specific routes are not tried for another method (405 names the route's)`,
        sends: ['GET', target],
        answers: 405,
        code: 'method_not_allowed',
        with: { allow },
        soon: true,
      }),
    ),
    { says: 'HEAD is served through GET', sends: ['HEAD', '/run/port/open/a'], answers: 200, text: '' },
    ...each(
      [
        ...['/run//port', '/run/port/../x', '/run/port/%2e%2e/x', '/run/port/./x', '/run/a%2Fb', '/run/a%5Cb'],
        ...['/run/a%00b', '/run/%zz', '/run/a\\b'],
      ],
      (target) => ({
        says: `Targets: no plain path → 400: ${JSON.stringify(target)}`,
        sends: ['GET', target],
        answers: 400,
        code: 'bad_target',
      }),
    ),
    {
      says: 'Framing: a Host that is none → 400',
      sends: ['GET', '/run/port/open/a'],
      headers: { host: 'not a host' },
      answers: 400,
      code: 'bad_request',
    },
    {
      says: 'Framing: an expectation other than 100-continue',
      sends: ['GET', '/run/port/open/a'],
      headers: { expect: 'a-miracle' },
      answers: 417,
      code: 'expectation_failed',
    },
    {
      says: 'limits: a target of 8 KiB',
      sends: ['GET', `/run/port/open/a?${'x'.repeat(8192)}`],
      answers: 414,
      code: 'uri_too_long',
      limit: 'Request target',
    },
    {
      says: 'limits: 16 KiB of headers',
      sends: ['GET', '/run/port/open/a'],
      headers: { 'x-large': 'x'.repeat(16_384) },
      answers: 431,
      code: 'headers_too_large',
      limit: 'Headers of a request',
    },
    {
      says: 'limits: 255 header lines',
      sends: ['GET', '/run/port/open/a'],
      headers: Object.fromEntries(Array.from({ length: 256 }, (_, at) => [`x-${at}`, 'x'])),
      answers: 431,
      code: 'headers_too_large',
      limit: 'Header lines of a request',
    },
    {
      says: 'limits: 512 words that could be keys',
      sends: ['GET', '/run/port/open/a'],
      headers: { 'x-words': Array.from({ length: 513 }, (_, at) => String(1e15 + at)).join() },
      answers: 431,
      code: 'headers_too_large',
      limit: 'Different words in target and headers that could be keys (16 to 256 letters, digits, `-`, `_`)',
    },
    {
      says: 'Every response carries X-Request-Id; the value of a peer that is no trusted proxy is not kept',
      sends: ['GET', '/run/port/open/a'],
      headers: { 'x-request-id': '0b19119b-01c4-47ba-ab69-621fcea74b4d' },
      answers: 200,
      with: { 'x-request-id': expect.not.stringContaining('0b19119b-01c4-47ba-ab69-621fcea74b4d') },
    },
    {
      says: 'handler threw: 500 handler_error (its message is hidden unless the function’s debug is on)',
      sends: ['GET', '/run/port/open/a?act=throw'],
      answers: 500,
      code: 'handler_error',
      hides: ['the inner reason'],
    },
    {
      says: 'a handler’s own 5xx response is its response',
      sends: ['GET', '/run/port/open/a?act=fail'],
      answers: 500,
      text: 'of the handler',
    },
    {
      says: 'over timeoutSeconds: 504 timeout',
      sends: ['GET', '/run/port/open/a?act=hang'],
      answers: 504,
      code: 'timeout',
      limit: 'Time of a call',
    },
    {
      says: 'a response that is not valid HTTP: 502',
      sends: ['GET', '/run/port/open/a?act=headers'],
      answers: 502,
      code: 'bad_response',
      limit: 'Headers of a response',
    },

    ...each(BROKEN, ({ name, answers, code }) => ({
      says: `handler missing, or broken, and never good before: ${code}`,
      sends: ['GET', `/run/port/${name}`],
      answers,
      code,
      hides: ['at load'],
      soon: true as const,
    })),
    {
      says: 'PUT: debug',
      sends: [
        'PUT',
        '/api/functions/<open>',
        { name: 'open', handler: 'port/shows.js', route: '/port/open/:id/*', methods: ['GET', 'POST'], debug: true },
      ],
      answers: 200,
    },
    {
      says: 'handler_error: its message is shown where the function’s debug is on',
      sends: ['GET', '/run/port/open/a?act=throw'],
      answers: 500,
      code: 'handler_error',
      text: /the inner reason/,
      soon: true,
    },
    {
      says: 'runtime died: 502 runtime_crashed',
      sends: ['GET', '/run/port/open/a?act=exit'],
      answers: 502,
      code: 'runtime_crashed',
    },
  ],
};

import { Harness, routerFunction } from '../testing/harness.ts';
import { Refusal } from '../refusal.ts';
import { parseTarget } from './parse-target.ts';

const BAD = [
  '/run/a\\b',
  '/run/a%2fb',
  '/run/a%2Fb',
  '/run/a%5cb',
  '/run/a%5Cb',
  '/run/a%00b',
  '/run/.',
  '/run/..',
  '/run/a/./b',
  '/run/a/../b',
  '/run/a/..',
  '/run/a/.',
  '/run/%2e',
  '/run/%2e%2e/a',
  '/run/%2E./a',
  '/run/.%2e/a',
  '/run/a/..;/b',
  '/run/a/..;x=1/b',
  '/run/a/%2e%2e;/b',
  '/run/a/.;/b',
  '/../run/a',
  '/./run/a',
  '//run/a',
  '/run//a',
  '/run/a//',
  '/run//',
  '//',
  '/run/a%',
  '/run/a%2',
  '/run/a%zz',
  '/run/a%ff',
  '/run/a%c3',
  '/run/%c0%af',
  '/run/a#b',
  '/run/a?b#c',
  'http://example.test/run/a',
  'HTTP://example.test/run/a',
  'https://example.test/run/a',
  'example.test:80',
  '*',
  'run/a',
  '?x=/run/a',
  '',
];

describe('R1: bad targets', () => {
  it.each(BAD)('%j is refused', (raw) => {
    const target = parseTarget(raw);
    expect(target).toBeInstanceOf(Refusal);
    expect((target as Refusal).status).toBe(400);
  });

  it('refuses them on the wire, where no function is reached', async () => {
    const harness = await Harness.start();
    let reached = 0;
    const instance = await harness.instance((_req, res) => {
      reached++;
      res.end();
    });
    await harness.serve([routerFunction({ route: '/*', instances: [instance] })]);
    for (const raw of BAD.filter((target) => target !== '')) {
      const text = await harness.raw(`GET ${raw} HTTP/1.1\r\nHost: a\r\n\r\n`, /\}$/);
      expect([raw, text.slice(0, 12)]).toEqual([raw, 'HTTP/1.1 400']);
    }
    for (const byte of ['\x80', '\xff', '\x7f', '\x01', '\t']) {
      const text = await harness.raw(`GET /run/a${byte}b HTTP/1.1\r\nHost: a\r\n\r\n`, /\}$/);
      expect([byte, text.slice(0, 12)]).toEqual([byte, 'HTTP/1.1 400']);
    }
    expect(reached).toBe(0);
    await harness.stop();
  });
});

describe('good targets', () => {
  it.each([
    ['/run', '/', undefined, []],
    ['/run/', '/', undefined, []],
    ['/run?', '/', '', []],
    ['/run?x=1', '/', 'x=1', []],
    ['/run/a/b', '/a/b', undefined, ['a', 'b']],
    ['/run/a/b/', '/a/b/', undefined, ['a', 'b']],
    ['/run/a%20b/%C3%A9', '/a%20b/%C3%A9', undefined, ['a b', 'é']],
    ['/run/%252e%252e/x', '/%252e%252e/x', undefined, ['%2e%2e', 'x']],
    ['/run/..a/b...', '/..a/b...', undefined, ['..a', 'b...']],
    ['/run/a:b*;c=d', '/a:b*;c=d', undefined, ['a:b*;c=d']],
    ['/run/a?b=//..%2f%00\\?c', '/a', 'b=//..%2f%00\\?c', ['a']],
  ])('%j', (raw, path, query, segments) => {
    expect(parseTarget(raw)).toEqual({ path, query, segments });
  });

  it.each(['/', '/runx', '/RUN/a', '/api/functions', '/%72un/a'])('%j is not under /run', (raw) => {
    expect(parseTarget(raw)).toBeUndefined();
  });

  it('R2: what was authorised is forwarded byte for byte', async () => {
    const harness = await Harness.start();
    const instance = await harness.instance((req, res) => res.end(req.url));
    await harness.serve([routerFunction({ route: '/*', instances: [instance] })]);
    for (const raw of ['/a%7eb/%41?x=%zz&y=%2F..//', "/!$&'()*+,;=:@-._~", '/?', '/a/?', '/a?a=1&&b==&c']) {
      expect((await harness.call(`/run${raw}`)).body).toBe(raw);
    }
    expect((await harness.call('/run')).body).toBe('/');
    expect((await harness.call('/elsewhere')).error.code).toBe('function_not_found');
    await harness.stop();
  });
});

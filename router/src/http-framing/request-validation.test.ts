import { eventually, Harness, readWhileSending, routerFunction } from '../testing/harness.ts';

const HOST = 'Host: example.test\r\n';
const filler = (bytes: number): string => 'a'.repeat(bytes);

describe('framing on the wire', () => {
  let harness: Harness;
  let reached = 0;

  beforeAll(async () => {
    harness = await Harness.start();
    const instance = await harness.instance((req, res) => {
      reached++;
      req.resume().on('end', () => res.end('reached'));
    });
    await harness.serve([routerFunction({ instances: [instance], methods: ['GET', 'POST', 'HEAD'] })]);
  });
  afterAll(() => harness.stop());

  /** Status and error body of the first answer. */
  function parse(text: string): { status: number; code: string; requestId: string; closes: boolean } {
    const [head = '', body = ''] = text.split('\r\n\r\n', 2);
    const error = JSON.parse(body) as { code: string; requestId: string };
    return {
      status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]),
      code: error.code,
      requestId: error.requestId,
      closes: /^connection: close$/im.test(head),
    };
  }

  const smuggling: [string, string][] = [
    [
      'Content-Length with Transfer-Encoding',
      `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'Transfer-Encoding with Content-Length',
      `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    ],
    ['two Content-Lengths', `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    [
      'two equal Content-Lengths',
      `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    ],
    ['a list of Content-Lengths', `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: 5, 5\r\n\r\nhello`],
    ['a signed Content-Length', `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: +5\r\n\r\nhello`],
    ['two Hosts', `GET /run/hello HTTP/1.1\r\n${HOST}Host: other.test\r\n\r\n`],
    ['two equal Hosts', `GET /run/hello HTTP/1.1\r\n${HOST}${HOST}\r\n`],
    ['no Host', 'GET /run/hello HTTP/1.1\r\n\r\n'],
    ['an empty Host', 'GET /run/hello HTTP/1.1\r\nHost:\r\n\r\n'],
    ['a Host with user info', 'GET /run/hello HTTP/1.1\r\nHost: a@b\r\n\r\n'],
    ['a Host with a path', 'GET /run/hello HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['chunked, identity', `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['identity, chunked', `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`],
    ['gzip, chunked', `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['identity', `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: identity\r\n\r\n`],
    [
      'two Transfer-Encodings',
      `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['chunked of HTTP/1.0', 'POST /run/hello HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n'],
    ['xchunked', `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `GET /run/hello HTTP/1.1\r\n${HOST}X-A : 1\r\n\r\n`],
    [
      'a space before the colon of Content-Length',
      `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length : 5\r\n\r\nhello`,
    ],
    ['a bare LF after the request line', `GET /run/hello HTTP/1.1\n${HOST}\r\n`],
    ['a bare LF after a header', `GET /run/hello HTTP/1.1\r\n${HOST}X-A: 1\nX-B: 2\r\n\r\n`],
    ['a bare LF at the end of the head', `GET /run/hello HTTP/1.1\r\n${HOST}\n`],
    ['a bare CR in a header', `GET /run/hello HTTP/1.1\r\n${HOST}X-A: 1\rX-B: 2\r\n\r\n`],
    ['a folded header', `GET /run/hello HTTP/1.1\r\n${HOST}X-A: 1\r\n folded\r\n\r\n`],
    ['a NUL in a header', `GET /run/hello HTTP/1.1\r\n${HOST}X-A: 1\0\r\n\r\n`],
    ['a header without a name', `GET /run/hello HTTP/1.1\r\n${HOST}: 1\r\n\r\n`],
    ['a space before the first header', `GET /run/hello HTTP/1.1\r\n ${HOST}\r\n`],
    ['an unknown method', `FOO /run/hello HTTP/1.1\r\n${HOST}\r\n`],
    ['HTTP/2 by prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', `GET /run/hello HTTP/0.9\r\n${HOST}\r\n`],
    ['HTTP/2.0', `GET /run/hello HTTP/2.0\r\n${HOST}\r\n`],
    ['HTTP/2.0 with a body', `POST /run/hello HTTP/2.0\r\n${HOST}Content-Length: 2\r\n\r\nhi`],
    ['HTTP/3.7', `GET /run/hello HTTP/3.7\r\n${HOST}\r\n`],
    ['no HTTP', 'hello\r\n\r\n'],
    ['CONNECT', `CONNECT example.test:443 HTTP/1.1\r\n${HOST}\r\n`],
  ];
  it.each(smuggling)('R3: refuses %s with 400, and no function is reached', async (_name, bytes) => {
    const before = reached;
    const answer = parse(await harness.raw(bytes, /\}$/));
    expect(answer.status).toBe(400);
    expect(answer.code).toMatch(/^bad_(?:request|target)$/);
    expect(answer.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.closes).toBe(true);
    expect(reached).toBe(before);
  });

  it('R3: a chunk size that is no number ends the call with 400', async () => {
    const bytes = `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;
    const answer = parse(await harness.raw(bytes));
    expect([answer.status, answer.closes]).toEqual([400, true]);
  });

  it('R3: garbage after a call that still runs is not answered in its place', async () => {
    const bytes = `GET /run/hello HTTP/1.1\r\n${HOST}\r\ngarbage\r\n\r\n`;
    expect(await harness.raw(bytes)).not.toMatch(/^HTTP\/1\.1 400/);
  });

  it('R3: takes plain chunked, and HTTP/1.0 without a Host', async () => {
    const chunked = `POST /run/hello HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`;
    expect(await harness.raw(chunked, /reached/)).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(await harness.raw('GET /run/hello HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK[^]*reached$/);
  });

  it('R3: the request after a refused one on the same connection never runs', async () => {
    const before = reached;
    const bytes = `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /run/hello HTTP/1.1\r\n${HOST}\r\n`;
    await harness.raw(bytes);
    expect(reached).toBe(before);
  });

  it.each([
    [
      'headers over 16 KiB',
      `GET /run/hello HTTP/1.1\r\n${HOST}X-A: ${filler(16_400)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['256 headers', `GET /run/hello HTTP/1.1\r\n${HOST}${'a: b\r\n'.repeat(255)}\r\n`, 431, 'headers_too_large'],
    [
      'many small headers',
      `GET /run/hello HTTP/1.1\r\n${HOST}${'a: b\r\n'.repeat(2900)}\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'many small headers before the Host',
      `GET /run/hello HTTP/1.1\r\n${'a: b\r\n'.repeat(2000)}${HOST}\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'headers over any limit',
      `GET /run/hello HTTP/1.1\r\n${HOST}X-A: ${filler(200_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['a URL over 8 KiB', `GET /run/hello?${filler(8192)} HTTP/1.1\r\n${HOST}\r\n`, 414, 'uri_too_long'],
    ['a URL over any limit', `GET /run/hello?${filler(100_000)} HTTP/1.1\r\n${HOST}\r\n`, 414, 'uri_too_long'],
  ])('R9: refuses %s', async (_name, bytes, status, code) => {
    const before = reached;
    const answer = parse(await harness.raw(bytes, /\}$/));
    expect([answer.status, answer.code]).toEqual([status, code]);
    expect(reached).toBe(before);
  });

  it('R9: takes headers and URLs just under the limits, all of them reaching the function', async () => {
    const url = `/run/hello?${filler(8192 - '/run/hello?'.length)}`;
    const bytes = `GET ${url} HTTP/1.1\r\n${HOST}${'a: b\r\n'.repeat(253)}X-A: ${filler(14_000)}\r\n\r\n`;
    expect(await harness.raw(bytes, /reached/)).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it.each([
    ['nothing', ''],
    ['half a head', `GET /run/hello HTTP/1.1\r\n${HOST}`],
  ])('R9: a connection that sent %s in time gets 408 and is closed', async (_name, bytes) => {
    const impatient = await Harness.start({ front: { headersTimeoutMs: 300 } });
    const answer = parse(await impatient.raw(bytes));
    await impatient.stop();
    expect([answer.status, answer.code, answer.closes]).toEqual([408, 'request_timeout', true]);
  });

  it('R11: a byte a moment does not keep a head open', async () => {
    const impatient = await Harness.start({ front: { headersTimeoutMs: 300 } });
    const socket = impatient.connect();
    socket.write(`GET /run/hello HTTP/1.1\r\n${HOST}X-A: `);
    const received = await readWhileSending(socket, 'a');
    await impatient.stop();
    expect(parse(received).status).toBe(408);
  });

  it('meets 100-continue only for a call that may send its body', async () => {
    const head = (path: string): string =>
      `POST ${path} HTTP/1.1\r\n${HOST}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
    expect(await harness.raw(head('/run/absent'))).toMatch(/^HTTP\/1\.1 404 /);
    const socket = harness.connect();
    socket.write(head('/run/hello'));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await eventually(() => text.includes('\r\n\r\n'));
    expect(text).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('hi');
    await eventually(() => text.endsWith('reached\r\n0\r\n\r\n') || text.endsWith('reached'));
    expect(text).toContain('HTTP/1.1 200 OK');
  });

  it.each([
    ['the chain', `GET /run/none HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`],
    ['the parser', `GET /run/hello HTTP/1.1\r\n${HOST}Content-Length: x\r\n\r\n`],
    ['the server, for an expectation', `GET /run/hello HTTP/1.1\r\n${HOST}Expect: magic\r\n\r\n`],
  ])('refuses with one head, whoever refuses: %s', async (_who, bytes) => {
    const text = await harness.raw(bytes);
    const [head = ''] = text.split('\r\n\r\n', 1);
    for (const line of ['Content-Type: application/json', 'Cache-Control: no-store', 'X-Content-Type-Options: nosniff'])
      expect(head.split('\r\n')).toContain(line);
    expect(head).toContain(`X-Request-Id: ${parse(text).requestId}\r\n`);
  });

  it('refuses other expectations', async () => {
    const bytes = `POST /run/hello HTTP/1.1\r\n${HOST}Content-Length: 2\r\nExpect: magic\r\n\r\n`;
    expect(parse(await harness.raw(bytes)).status).toBe(417);
  });

  it('ignores Upgrade: the call is answered in HTTP/1.1', async () => {
    const bytes = `GET /run/hello HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await harness.raw(bytes, /reached/)).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('answers TRACE with 405', async () => {
    const text = await harness.raw(`TRACE /run/hello HTTP/1.1\r\n${HOST}\r\n`, /\}$/);
    expect(parse(text).status).toBe(405);
    expect(text).toMatch(/^allow: GET, HEAD, POST\r$/im);
  });
});

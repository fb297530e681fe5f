import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import type { RouterFunction, RouterInstance } from '@wherry/core/feed/messages.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { eventually, Harness, readUntil, readWhileSending, routerFunction } from '../testing/harness.ts';
import { HELD_TIMEOUT_MS, HeldTimeouts } from '../testing/held-timeouts.ts';

describe('forwarding', () => {
  let harness: Harness;
  let timeouts: HeldTimeouts;
  const netServers: NetServer[] = [];

  beforeEach(async () => {
    timeouts = new HeldTimeouts();
    harness = await Harness.start({ clock: timeouts.clock });
  });
  afterEach(async () => {
    await harness.stop();
    for (const server of netServers.splice(0)) server.close();
  });

  type Listener = (req: IncomingMessage, res: ServerResponse) => void;
  async function serve(listener: Listener, fields: Partial<RouterFunction> = {}): Promise<void> {
    await harness.serve([routerFunction({ instances: [await harness.instance(listener)], ...fields })]);
  }

  /** An instance that speaks bytes. */
  async function rawInstance(onData: (socket: Socket, data: Buffer) => void, id = 'raw'): Promise<RouterInstance> {
    const path = harness.socketPath(`${id}.sock`);
    const server = createNetServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => onData(socket, data));
    });
    netServers.push(server);
    server.listen(path);
    await once(server, 'listening');
    return { id, revision: 'r1', address: { path }, token: 't' };
  }
  const answering =
    (text: string, ends = true) =>
    (socket: Socket): void => {
      if (ends) socket.end(text, 'latin1');
      else socket.write(text, 'latin1');
    };

  describe('streams', () => {
    it('both ways as bytes come, neither waiting for the other', async () => {
      await serve((req, res) => {
        res.writeHead(200);
        res.flushHeaders();
        req.on('data', (chunk: Buffer) => res.write(chunk.toString().toUpperCase()));
        req.on('end', () => res.end());
      });
      const socket = harness.connect();
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.write('POST /run/hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n');
      await eventually(() => text.includes('ONE'));
      socket.write('3\r\ntwo\r\n');
      await eventually(() => text.includes('TWO'));
      expect(text).not.toContain('\r\n0\r\n');
      socket.write('0\r\n\r\n');
      await eventually(() => text.endsWith('\r\n0\r\n\r\n'));
    });

    it('heads at once when the body is still to come (server-sent events)', async () => {
      const release = Promise.withResolvers<void>();
      await serve((_req, res) => {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        res.flushHeaders();
        void release.promise.then(() => res.end('data: 1\n\n'));
      });
      const socket = harness.connect();
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
      await eventually(() => text.includes('text/event-stream'));
      release.resolve();
      await eventually(() => text.includes('data: 1'));
    });

    it('megabytes unchanged, with a length and chunked', async () => {
      await serve((req, res) => void req.pipe(res), { maxRequestBytes: 20_000_000 });
      const body = Buffer.alloc(8_000_000, 'abcdefg');
      const framings: Record<string, string>[] = [
        { 'Content-Length': String(body.length) },
        { 'Transfer-Encoding': 'chunked' },
      ];
      for (const headers of framings) {
        const answer = await harness.call('/run/hello', { method: 'POST', body, headers });
        expect(answer.body.length).toBe(body.length);
        expect(answer.body === body.toString()).toBe(true);
      }
    });

    it('S4: an endless answer stops when its caller does not read, and memory stays', async () => {
      let written = 0;
      await serve((_req, res) => {
        const chunk = Buffer.alloc(65_536);
        const more = (): void => {
          while (res.write(chunk)) written += chunk.length;
          written += chunk.length;
          res.once('drain', more);
        };
        more();
      });
      const before = process.memoryUsage().rss;
      const socket = harness.connect();
      socket.pause();
      socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
      let [last, looks] = [0, 0];
      // Still at so many looks in a row: nothing more is taken.
      await eventually(() => {
        looks = written > 0 && written === last ? looks + 1 : 0;
        last = written;
        return looks === 20;
      });
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    });
  });

  describe('bodies', () => {
    const post = (length: string, body: string): string =>
      `POST /run/hello HTTP/1.1\r\nHost: a\r\n${length}\r\n\r\n${body}`;

    it('R9: refuses an announced body over the limit before the function is reached', async () => {
      let reached = 0;
      await serve((_req, res) => void res.end(String(reached++)), { maxRequestBytes: 10 });
      const answer = await harness.call('/run/hello', { method: 'POST', body: 'x'.repeat(11) });
      expect([answer.status, answer.error.code]).toEqual([413, 'too_large']);
      expect(reached).toBe(0);
      expect((await harness.call('/run/hello', { method: 'POST', body: 'x'.repeat(10) })).status).toBe(200);
    });

    it('R9: cuts a chunked body at the limit, at the instance too', async () => {
      let bytes = 0;
      const aborted = Promise.withResolvers<void>();
      await serve(
        (req) => {
          req.on('data', (chunk: Buffer) => (bytes += chunk.length));
          req.on('error', () => undefined);
          req.on('close', () => aborted.resolve());
        },
        { maxRequestBytes: 1_000_000 },
      );
      const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
      const text = await harness.raw(post('Transfer-Encoding: chunked', chunk.repeat(40)), /\}$/);
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
      await aborted.promise;
      expect(bytes).toBeLessThanOrEqual(1_000_000);
    });

    it('R11: a body that drips is given up, and its connection ends', async () => {
      // Time runs 20 times as fast for the router.
      const fast = await Harness.start({
        clock: { ...systemClock, after: (ms, callback) => systemClock.after(ms / 20, callback) },
      });
      await fast.serve([
        routerFunction({ timeoutMs: 3_600_000, instances: [await fast.instance((req) => void req.resume())] }),
      ]);
      const socket = fast.connect();
      socket.write(post('Content-Length: 100000', 'x'));
      const start = machineTime();
      const text = await readWhileSending(socket, 'x');
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
      expect(machineTime() - start).toBeLessThan(15_000 / 20 + 500);
      await fast.stop();
    });

    it('R11: a body that nobody wants does not keep its connection', async () => {
      await serve((_req, res) => void res.end(), { maxRequestBytes: 10 });
      const socket = harness.connect();
      socket.write(post('Content-Length: 100000', 'x'));
      expect(await readWhileSending(socket, 'x')).toMatch(/^HTTP\/1\.1 413 /);
    });

    it.each([
      ['R9: a refusal', 413, { maxRequestBytes: 10 }],
      ["a function's answer", 200, { maxRequestBytes: 1e9 }],
    ])(
      '%s before the end of the body is read by a caller that sends all of it first, and then wants no other call',
      async (_what, status, limits) => {
        // The second for which the router reads on is twenty: the machine may be busy.
        const slow = await Harness.start({
          clock: { ...systemClock, after: (ms, callback) => systemClock.after(ms * 20, callback) },
        });
        await slow.serve([
          routerFunction({ ...limits, instances: [await slow.instance((_req, res) => void res.end('early'))] }),
        ]);
        const socket = slow.connect();
        const received = readUntil(socket);
        const body = Buffer.alloc(20 * 1024 * 1024);
        socket.write(
          `POST /run/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
        );
        const sent = promisify((done: (error?: Error | null) => void) => socket.write(body, done))();
        const [text] = await Promise.all([received, sent]).finally(() => slow.stop());
        expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      },
    );

    it('an answer before the end of the body is whole, and the connection ends', async () => {
      await serve((_req, res) => void res.end('early'));
      const text = await harness.raw(post('Content-Length: 100000', 'x'));
      expect(text).toMatch(/^HTTP\/1\.1 200 OK[^]*early/);
    });

    it('are passed with GET and DELETE too', async () => {
      await serve((req, res) => void req.pipe(res), { methods: ['GET', 'DELETE'] });
      for (const method of ['GET', 'DELETE']) {
        const headers = { 'Content-Length': '4' };
        expect((await harness.call('/run/hello', { method, body: 'body', headers })).body).toBe('body');
      }
    });
  });

  describe('endings', () => {
    const finished = async (): Promise<string[]> => {
      await eventually(() => harness.logs('exec_end').length > 0);
      return harness.logs('exec_end').map((entry) => entry.message.replace(/^[\d.]+ms/, ''));
    };

    it('a caller that leaves ends the call at the instance', async () => {
      const arrived = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      await serve((_req, res) => {
        arrived.resolve();
        res.on('close', () => left.resolve());
      });
      const socket = harness.connect();
      socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
      await arrived.promise;
      socket.destroy();
      await left.promise;
      expect(await finished()).toEqual(['']);
      expect(harness.metrics.value('function_calls_total', { code: '499' })).toBe(1);
      expect(harness.metrics.value('function_inflight')).toBe(0);
    });

    it('R9: over its time a call gets 504 and ends at the instance', async () => {
      const arrived = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      const hang = (_req: IncomingMessage, res: ServerResponse): void => {
        arrived.resolve();
        res.on('close', () => left.resolve());
      };
      await serve(hang, { timeoutMs: HELD_TIMEOUT_MS });
      const answering = harness.call('/run/hello');
      await arrived.promise;
      timeouts.ends[0]?.();
      const answer = await answering;
      expect([answer.status, answer.error.code]).toEqual([504, 'timeout']);
      await left.promise;
      expect(await finished()).toEqual([' (timeout)']);
    });

    it.each([
      ['error', ' (error)'],
      ['timeout', ' (timeout)'],
      ['anything', ''],
    ])("the runtime's own word for it, %s, is in the log and not in the answer", async (word, text) => {
      await serve((_req, res) => void res.writeHead(504, { 'X-Wherry-Outcome': word }).end());
      expect((await harness.call('/run/hello')).headers['x-wherry-outcome']).toBeUndefined();
      expect(await finished()).toEqual([text]);
    });

    it('R9: the time covers the streamed body: past it the stream is cut', async () => {
      await serve((_req, res) => void res.write('tick'), { timeoutMs: HELD_TIMEOUT_MS });
      const socket = harness.connect();
      socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
      const closed = once(socket, 'close');
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await eventually(() => text.includes('tick'));
      timeouts.ends[0]?.();
      await closed;
      expect(text).not.toContain('\r\n0\r\n');
      expect(await finished()).toEqual([' (timeout)']);
    });

    it('R9: a caller that does not read is cut when its time is over', async () => {
      await serve((_req, res) => void res.end(Buffer.alloc(8_000_000)), { timeoutMs: HELD_TIMEOUT_MS });
      const socket = harness.connect();
      const closed = once(socket, 'close');
      socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
      await new Promise((resolve) => socket.once('data', () => resolve(socket.pause())));
      timeouts.ends[0]?.();
      expect(await finished()).toEqual([' (timeout)']);
      socket.resume();
      await closed;
      expect(socket.bytesRead).toBeLessThan(8_000_000);
    });

    it('an instance that dies before its answer is a 502', async () => {
      await serve((req) => void req.socket.destroy());
      const answer = await harness.call('/run/hello', { method: 'POST', body: 'x' });
      expect([answer.status, answer.error.code]).toEqual([502, 'runtime_crashed']);
      expect(await finished()).toEqual([' (error)']);
    });

    it.each([
      ['with a length', { 'Content-Length': '100' }],
      ['chunked', {}],
    ])('an instance that dies in its answer %s leaves a cut stream', async (_name, headers) => {
      await serve((req, res) => {
        res.writeHead(200, headers);
        res.write('part', () => req.socket.destroy());
      });
      await expect(harness.call('/run/hello')).rejects.toThrow('aborted');
      expect(await finished()).toEqual([' (error)']);
    });

    it('the same for a caller of HTTP/1.0, where a close would be the end of a whole body', async () => {
      await serve((req, res) => {
        res.writeHead(200);
        res.write('part', () => setImmediate(() => req.socket.destroy()));
      });
      const socket = harness.connect();
      const ended = once(socket, 'error').then(([error]) => (error as NodeJS.ErrnoException).code);
      socket.resume();
      socket.write('GET /run/hello HTTP/1.0\r\n\r\n');
      expect(await ended).toBe('ECONNRESET');
    });

    it('a throw that the runtime reports is an error in the log; the header stays inside', async () => {
      await serve(
        (_req, res) => void res.writeHead(500, { 'X-Wherry-Outcome': 'error', 'X-Wherry-Other': '1' }).end('{}'),
      );
      const answer = await harness.call('/run/hello');
      expect(answer.status).toBe(500);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('x-wherry'))).toEqual([]);
      expect(await finished()).toEqual([' (error)']);
    });
  });

  describe('responses', () => {
    it.each([
      ['no HTTP', 'hello\r\n\r\n'],
      ['S4: 10,000 headers', `HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(10_000)}Content-Length: 0\r\n\r\n`],
      ['S4: a NUL in a header', 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n'],
      ['S4: a bare LF in a header', 'HTTP/1.1 200 OK\r\nX-A: a\nX-B: b\r\nContent-Length: 0\r\n\r\n'],
      ['two Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
      ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
      [
        'an upgrade that nobody requested',
        'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      ],
      ['a control character in a header', 'HTTP/1.1 200 OK\r\nX-A: a\x01b\r\nContent-Length: 0\r\n\r\n'],
    ])('R9: %s is a 502', async (_name, text) => {
      await harness.serve([routerFunction({ instances: [await rawInstance(answering(text))] })]);
      const answer = await harness.call('/run/hello');
      expect([answer.status, answer.error.code]).toEqual([502, 'bad_response']);
    });

    it('a body over its length never reaches the caller as a second answer', async () => {
      const text = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
      await harness.serve([routerFunction({ instances: [await rawInstance(answering(text, false))] })]);
      expect((await harness.call('/run/hello')).body).toBe('ok');
      expect((await harness.call('/run/hello')).body).toBe('ok');
    });

    it.each([204, 304])('%i has no body and does not hang', async (status) => {
      await serve((_req, res) => void res.writeHead(status, { ETag: '"x"' }).end());
      const answer = await harness.call('/run/hello');
      expect([answer.status, answer.body, answer.headers['etag']]).toEqual([status, '', '"x"']);
      expect(answer.headers['transfer-encoding']).toBeUndefined();
    });

    it('HEAD is answered through GET, with its length and without a body', async () => {
      await serve(
        (req, res) => void res.writeHead(200, { 'Content-Length': 5, 'X-Method': String(req.method) }).end('hello'),
        {
          methods: ['GET'],
        },
      );
      const text = await harness.raw('HEAD /run/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 5\r\nX-Method: HEAD\r\n[^]*\r\n\r\n$/);
    });

    it('keeps the order and the duplicates of headers, and drops those that end at this hop (R4)', async () => {
      const text = [
        'HTTP/1.1 200 OK',
        'Set-Cookie: a=1',
        'X-B: 1',
        'set-cookie: b=2',
        'Connection: keep-alive, X-Drop, X-Request-Id',
        'X-Drop: 1',
        'Keep-Alive: timeout=5',
        'Proxy-Authenticate: x',
        'Trailer: x',
        'X-Request-Id: forged',
        'X-Latin: \xe9',
        'Content-Length: 0',
        '',
        '',
      ].join('\r\n');
      await harness.serve([routerFunction({ instances: [await rawInstance(answering(text, false))] })]);
      const answer = await harness.raw('GET /run/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      const [head = ''] = answer.split('\r\n\r\n');
      expect(head).toMatch(
        /^HTTP\/1\.1 200 OK\r\nSet-Cookie: a=1\r\nX-B: 1\r\nset-cookie: b=2\r\nX-Latin: \xe9\r\nContent-Length: 0\r\nX-Request-Id: [0-9a-f-]{36}\r\nDate: [^\r]*\r\nConnection: close$/,
      );
    });

    it('R6: a function sets no cookie of a session on the management port', async () => {
      const set =
        'a=1|wherry_session=x; Path=/api|__Host-wherry_session=y; Secure| wherry_session =z|=wherry_session=z|wherry_oidc=z'.split(
          '|',
        );
      const text = `HTTP/1.1 200 OK\r\n${set.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join('')}Content-Length: 0\r\n\r\n`;
      await harness.serve([routerFunction({ instances: [await rawInstance(answering(text, false))] })]);
      expect((await harness.call('/run/hello')).headers['set-cookie']).toEqual(['a=1']);
    });

    it('an early hint is not the answer', async () => {
      const text = 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
      await harness.serve([routerFunction({ instances: [await rawInstance(answering(text, false))] })]);
      expect((await harness.call('/run/hello')).body).toBe('ok');
    });
  });
});

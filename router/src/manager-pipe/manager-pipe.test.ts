import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, Harness, routerFunction } from '../testing/harness.ts';

describe('equal ports: the pipe to the manager', () => {
  let directory: string;
  let harness: Harness;
  let manager: Server;
  let seen: IncomingMessage[];

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-pipe-'));
    const socketPath = path.join(directory, 'manager.sock');
    seen = [];
    manager = createServer((req, res) => {
      seen.push(req);
      if (req.url === '/api/stream') {
        res.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Request-Id': 'managers-own' });
        res.write('data: 1\n\n');
        return;
      }
      if (req.url === '/api/crash') req.socket.destroy();
      else req.pipe(res);
    });
    manager.listen(socketPath);
    await once(manager, 'listening');
    harness = await Harness.start({ managerAddress: { path: socketPath } });
    await harness.serve([routerFunction({ keyGroups: ['team'], maxRequestBytes: 1 })]);
  });
  afterEach(async () => {
    await harness.stop();
    manager.closeAllConnections();
    manager.close();
    await rm(directory, { recursive: true, force: true });
  });

  it("forwards what is not /run as it came, with the peer's address", async () => {
    const target = '/api/../x//%2f%zz?api_key=secret&y';
    const body = 'x'.repeat(100_000);
    const answer = await harness.call(target, {
      method: 'PUT',
      body,
      headers: {
        'X-API-Key': 'secret',
        'X-Forwarded-For': '1.2.3.4',
        'X-Wherry-Peer': 'forged',
        Forwarded: 'for=x',
        Cookie: 'a=b',
      },
    });
    expect([answer.status, answer.body]).toEqual([200, body]);
    expect(seen[0]?.url).toBe(target);
    expect(seen[0]?.headers).toMatchObject({
      'x-api-key': 'secret',
      'x-forwarded-for': '1.2.3.4',
      'x-wherry-peer': '127.0.0.1',
      forwarded: 'for=x',
      cookie: 'a=b',
    });
  });

  it.each(['/', '/web', '/web/login', '/api/functions', '/runner', '/favicon.ico'])(
    "%s is the manager's",
    async (target) => {
      expect((await harness.call(target)).status).toBe(200);
      expect(seen).toHaveLength(1);
    },
  );

  it.each([
    ['/run/hello', 401],
    ['/run/absent', 404],
    ['/run/../api/functions', 400],
    ['/run?x', 404],
  ])("%s is the router's", async (target, status) => {
    const text = await harness.raw(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`, /\}$/);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(seen).toHaveLength(0);
  });

  it.each(['*', 'http://a/api/functions', 'http://a/run/hello'])("R1: %s is nobody's", async (target) => {
    const text = await harness.raw(`OPTIONS ${target} HTTP/1.1\r\nHost: a\r\n\r\n`, /\}$/);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toHaveLength(0);
  });

  it('streams events as they come, and ends with the caller', async () => {
    const socket = harness.connect();
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write('GET /api/stream HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually(() => text.includes('data: 1'));
    expect(text).toContain('X-Request-Id: managers-own');
    const ended = new Promise((resolve) => seen[0]!.on('error', () => undefined).once('close', resolve));
    socket.destroy();
    await ended;
  });

  it("is a 502 in the API's shape when the manager does not answer", async () => {
    expect((await harness.call('/api/crash')).error.code).toBe('manager_unavailable');
    manager.closeAllConnections();
    manager.close();
    expect((await harness.call('/api/functions')).error.code).toBe('manager_unavailable');
  });

  it('R3: framing is checked here, too', async () => {
    const text = await harness.raw('GET /api/functions HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', /\}$/);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toHaveLength(0);
  });
});

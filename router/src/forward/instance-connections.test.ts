import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RouterFunction } from '@wherry/core/feed/messages.ts';
import { Harness, readUntil, routerFunction } from '../testing/harness.ts';

describe('connections of callers and to instances', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.stop());

  type Listener = (req: IncomingMessage, res: ServerResponse) => void;
  async function serve(listener: Listener, fields: Partial<RouterFunction> = {}): Promise<void> {
    await harness.serve([routerFunction({ instances: [await harness.instance(listener)], ...fields })]);
  }

  it('keeps its connections to an instance', async () => {
    const sockets = new Set<Socket>();
    await serve(
      (req, res) => {
        sockets.add(req.socket);
        res.end('x');
      },
      { methods: ['GET', 'HEAD', 'POST'] },
    );
    for (const method of ['GET', 'HEAD', 'POST', 'HEAD', 'GET'])
      await harness.call('/run/hello', { method, ...(method === 'POST' ? { body: 'x' } : {}) });
    expect(sockets.size).toBe(1);
  });

  it('S2: shows the instance its own token', async () => {
    const a = await harness.instance((req, res) => void res.end(req.headers['x-wherry-token']), 'a');
    await harness.serve([routerFunction({ instances: [a] })]);
    expect((await harness.call('/run/hello')).body).toBe('token-a');
  });

  it('a keep-alive caller may send its next call after a refusal with a body', async () => {
    await serve((_req, res) => void res.end('ok'), { maxRequestBytes: 1 });
    const socket = harness.connect();
    socket.write(
      'POST /run/hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    expect(await readUntil(socket, /200 OK[^]*ok/)).toMatch(/^HTTP\/1\.1 413 /);
  });
});

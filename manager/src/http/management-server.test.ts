import { once } from 'node:events';
import { get, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { eventually } from '@wherry/testing/eventually.ts';
import { MAX_OPEN_REQUESTS } from '@wherry/service/pipeline.ts';
import { createManagementServer, type ManagementServerOptions } from './management-server.ts';

const limits = { connections: 8, connectionsPerAddress: 4 };

/** The paths that a connection's answers name, in order. */
async function readPaths(socket: Socket, count: number): Promise<string[]> {
  const paths: string[] = [];
  for await (const line of createInterface({ input: socket })) {
    if (line.startsWith('/')) paths.push(line);
    if (paths.length === count) break;
  }
  return paths;
}

describe('M10: connections to the management port', () => {
  let server: Server;
  const sockets: Socket[] = [];
  const ok: RequestListener = (_request, response) => void response.end('ok');

  const listen = async (listener: RequestListener, options: Partial<ManagementServerOptions> = {}): Promise<void> => {
    server = createManagementServer(listener, { trustedProxies: [], limits, ...options });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  };
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });

  const portOf = (): number => (server.address() as AddressInfo).port;
  /** A connection from an address of this machine. */
  const connectFrom = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: portOf(), host: '127.0.0.1', localAddress });
    // One that makes room for another may be reset.
    socket.on('error', () => undefined);
    sockets.push(socket);
    const accepted = once(server, 'connection');
    await once(socket, 'connect');
    await accepted;
    return socket;
  };
  const call = async (localAddress: string, path = '/'): Promise<string> => {
    const sent = get({ port: portOf(), host: '127.0.0.1', path, localAddress, agent: false });
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return text(answer);
  };

  it('that do nothing keep no caller out, from the same address or another', async () => {
    await listen(ok);
    const idle: Socket[] = [];
    for (const address of ['127.0.0.2', '127.0.0.3']) {
      for (let n = 0; n < 4; n++) idle.push(await connectFrom(address));
    }
    for (const socket of idle) socket.resume().write('GET /api/x HTTP/1.1\r\nHost: a\r\n');
    expect(await call('127.0.0.4')).toBe('ok');
    expect(await call('127.0.0.2')).toBe('ok');
    for (let n = 0; n < 4; n++) await connectFrom('127.0.0.2');
    await eventually(() => expect(idle.slice(0, 4).map(({ closed }) => closed)).not.toContain(false));
  });

  it('that never complete a head are closed', async () => {
    await listen(ok, { headersTimeoutMs: 50 });
    const socket = await connectFrom('127.0.0.1');
    // By a reset where the server was late to read it.
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    socket.resume();
    socket.write('GET /api/x HTTP/1.1\r\nHost: a\r\n');
    await closed;
  });

  it('whose refusals are not read keep no caller out', async () => {
    let isRefusing = true;
    const refused = new Set<Socket>();
    await listen((request, response) => {
      if (isRefusing) refused.add(request.socket);
      response.writeHead(isRefusing ? 401 : 200).end(isRefusing ? Buffer.alloc(1024 * 1024) : 'ok');
    });
    for (let n = 0; n < 4; n++) {
      const socket = await connectFrom('127.0.0.1');
      socket.pause();
      socket.write('GET /api/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    }
    await eventually(() => expect(refused.size).toBe(4));
    isRefusing = false;
    expect(await call('127.0.0.1')).toBe('ok');
  });

  it('have a few open requests each: what is pipelined behind them waits unread, and is answered in order', async () => {
    const requests = 5000;
    const waiting: (() => void)[] = [];
    let open = 0;
    let mostOpen = 0;
    let isReleased = false;
    await listen((request, response) => {
      if (request.url === '/other') return void response.end('ok');
      mostOpen = Math.max(mostOpen, ++open);
      const answer = (): void => {
        open--;
        response.end(`${request.url}\n`);
      };
      if (isReleased) setImmediate(answer);
      else waiting.push(answer);
    });
    const socket = await connectFrom('127.0.0.1');
    const answers = readPaths(socket, requests);
    const heads = Array.from({ length: requests }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`);
    socket.write(heads.join(''));
    await eventually(() => expect(waiting.length).toBeGreaterThanOrEqual(MAX_OPEN_REQUESTS));
    expect(await call('127.0.0.1', '/other')).toBe('ok');
    isReleased = true;
    for (const answer of waiting.splice(0)) answer();
    expect(await answers).toEqual(heads.map((_, at) => `/${at}`));
    expect(mostOpen).toBe(MAX_OPEN_REQUESTS);
  });

  it('that pipeline too much together are closed; their requests never begin, and no other caller is', async () => {
    let begun = 0;
    await listen(
      (request, response) => {
        if (request.url === '/other') response.end('ok');
        else begun++;
      },
      { limits: { connections: 16, connectionsPerAddress: 16 } },
    );
    const sockets = await Promise.all(Array.from({ length: 8 }, () => connectFrom('127.0.0.1')));
    // Not by `once`: one that is closed may be reset, and the error comes first.
    const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().on('close', resolve)));
    for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(5000));
    await Promise.race(closed);
    expect(await call('127.0.0.1', '/other')).toBe('ok');
    expect(begun).toBeLessThanOrEqual(8 * MAX_OPEN_REQUESTS);
  });

  it('that are busy are never closed for a new one, which is refused', async () => {
    const waiting: (() => void)[] = [];
    await listen((_request, response) => void waiting.push(() => response.end('done')));
    const calls = Array.from({ length: 4 }, () => call('127.0.0.1'));
    await eventually(() => expect(waiting).toHaveLength(4));
    await expect(call('127.0.0.1')).rejects.toThrow(/hang up|ECONNRESET/);
    for (const end of waiting) end();
    expect(await Promise.all(calls)).toEqual(['done', 'done', 'done', 'done']);
  });
});

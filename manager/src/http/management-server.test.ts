import { once } from 'node:events';
import { get, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from '@wherry/testing/eventually.ts';
import { createManagementServer, type ManagementServerOptions } from './management-server.ts';

const limits = { connections: 8, connectionsPerAddress: 4 };

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
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: portOf(), host: '127.0.0.1', localAddress });
    // One that makes room for another may be reset.
    socket.on('error', () => undefined);
    sockets.push(socket);
    const accepted = once(server, 'connection');
    await once(socket, 'connect');
    await accepted;
    return socket;
  };
  const call = async (localAddress: string): Promise<string> => {
    const sent = get({ port: portOf(), host: '127.0.0.1', localAddress, agent: false });
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return text(answer);
  };

  it('that do nothing keep no caller out, from the same address or another', async () => {
    await listen(ok);
    const idle: Socket[] = [];
    for (const address of ['127.0.0.2', '127.0.0.3']) {
      for (let n = 0; n < 4; n++) idle.push(await open(address));
    }
    for (const socket of idle) socket.resume().write('GET /api/x HTTP/1.1\r\nHost: a\r\n');
    expect(await call('127.0.0.4')).toBe('ok');
    expect(await call('127.0.0.2')).toBe('ok');
    for (let n = 0; n < 4; n++) await open('127.0.0.2');
    await eventually(() => expect(idle.slice(0, 4).map(({ closed }) => closed)).not.toContain(false));
  });

  it('that never complete a head are closed', async () => {
    await listen(ok, { headersTimeoutMs: 50 });
    const socket = await open('127.0.0.1');
    socket.resume();
    socket.write('GET /api/x HTTP/1.1\r\nHost: a\r\n');
    await once(socket, 'close');
  });

  it('whose refusals are not read keep no caller out', async () => {
    let isRefusing = true;
    const refused = new Set<Socket>();
    await listen((request, response) => {
      if (isRefusing) refused.add(request.socket);
      response.writeHead(isRefusing ? 401 : 200).end(isRefusing ? Buffer.alloc(1024 * 1024) : 'ok');
    });
    for (let n = 0; n < 4; n++) {
      const socket = await open('127.0.0.1');
      socket.pause();
      socket.write('GET /api/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    }
    await eventually(() => expect(refused.size).toBe(4));
    isRefusing = false;
    expect(await call('127.0.0.1')).toBe('ok');
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

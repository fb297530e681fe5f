import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { drainServer } from './drain-server.ts';

describe('drainServer', () => {
  const clock = new FakeClock();
  const sockets: Socket[] = [];
  let server: Server;
  let arrived: PromiseWithResolvers<ServerResponse>;

  beforeEach(async () => {
    arrived = Promise.withResolvers();
    // Kept alive for ever, were it not for the drain.
    server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      if (request.url === '/quick') response.end('quick');
      else arrived.resolve(response);
    });
    server.listen(await quietPort(), '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  async function open(): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }
  const sendRequest = (socket: Socket, path: string): boolean =>
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const answerOf = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

  it('closes a connection that is kept alive, at once where it is idle, else when its request has been answered', async () => {
    const idle = await open();
    sendRequest(idle, '/quick');
    expect(await answerOf(idle)).toContain('quick');
    const busy = await open();
    sendRequest(busy, '/slow');
    const response = await arrived.promise;
    // Its head was sent before the drain: it says keep-alive.
    response.writeHead(200, { 'Content-Length': 4 });
    response.flushHeaders();
    expect(await answerOf(busy)).toContain('keep-alive');
    const idleClosed = once(idle, 'close');
    const drained = drainServer(server, { clock, boundMs: 10_000 });
    await idleClosed;
    const busyClosed = once(busy, 'close');
    const finished = once(response, 'finish');
    response.end('slow');
    expect(await answerOf(busy)).toBe('slow');
    await finished;
    await clock.advance(50);
    await busyClosed;
    await drained;
    expect(clock.pending).toBe(0);
  });

  it('takes no new connection', async () => {
    const { port } = server.address() as AddressInfo;
    await drainServer(server, { clock, boundMs: 10_000 });
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow('fetch failed');
  });

  it('cuts what still runs at the bound', async () => {
    const busy = await open();
    sendRequest(busy, '/slow');
    await arrived.promise;
    const closed = once(busy, 'close');
    const drained = drainServer(server, { clock, boundMs: 10_000 });
    await clock.advance(9_999);
    expect(busy.destroyed).toBe(false);
    await clock.advance(1);
    await closed;
    await drained;
    expect(clock.pending).toBe(0);
  });
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '@wherry/service/clock.ts';
import { RequestBody } from './request-body.ts';

describe('R12: a body of tiny chunks', () => {
  const CHUNKS = 300_000;
  let server: Server;
  let caller: Socket;

  /** A request whose body's last bytes are sent as well, as its router has it. */
  async function tinyChunks(): Promise<{ request: IncomingMessage; body: RequestBody }> {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const arrived = once(server, 'request');
    caller = connect((server.address() as AddressInfo).port, '127.0.0.1');
    caller.on('error', () => undefined);
    caller.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    caller.write(Array.from({ length: CHUNKS }, (_, index) => `1\r\n${index % 10}\r\n`).join(''));
    caller.write('0\r\n\r\n');
    const [request] = (await arrived) as [IncomingMessage];
    const onFailure = (): void => undefined;
    return { request, body: new RequestBody(request, { maxBytes: CHUNKS, clock: systemClock, onFailure }) };
  }

  afterEach(async () => {
    caller.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('waits for its instance in few pieces, while the connection is not read, and goes on in few', async () => {
    const { request, body } = await tinyChunks();
    await once(request.socket, 'pause');
    for (let turn = 0; turn < 200; turn += 1) await setImmediate();
    // What is held, six bytes for each of its own, and what Node reads at once.
    expect(request.socket.bytesRead).toBeLessThan(6 * 65_536 + 4 * 65_536);
    expect(request.readableLength).toBe(0);
    let [pieces, text] = [0, ''];
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces += 1;
      text += piece.toString('latin1');
    }
    expect(text === '0123456789'.repeat(CHUNKS / 10)).toBe(true);
    expect(pieces).toBeLessThan(CHUNKS / 100);
  });

  it('that is given up lets its connection be read on', async () => {
    const { request, body } = await tinyChunks();
    await once(request.socket, 'pause');
    body.destroy();
    await once(request, 'end');
  });
});

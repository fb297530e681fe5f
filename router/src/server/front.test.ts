import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import { eventually, Harness, httpCall, readWhileSending, routerFunction } from '../testing/harness.ts';

describe('R11: slow clients', () => {
  it('500 sockets that send a byte a moment are gone in time, and others are served', async () => {
    const harness = await Harness.start({ front: { headersTimeoutMs: 1000 } });
    await harness.serve([routerFunction({ instances: [await harness.instance((_req, res) => void res.end('ok'))] })]);
    const slow: Socket[] = Array.from({ length: 500 }, () => harness.connect());
    await Promise.all(slow.map((socket) => once(socket, 'connect')));
    const start = machineTime();
    const drip = setInterval(() => slow.forEach((socket) => socket.write('G')), 250);
    slow.forEach((socket) => socket.resume().write('GET /run/hello HTTP/1.1\r\nX-A: '));
    const statuses: number[] = [];
    while (!slow.every((socket) => socket.closed) && machineTime() - start < 6000) {
      statuses.push((await harness.call('/run/hello')).status);
    }
    clearInterval(drip);
    expect(slow.filter((socket) => !socket.closed)).toHaveLength(0);
    // Half as much again as the limit on heads, as 15 s is to 10 s, and a second for Node's check.
    expect(machineTime() - start).toBeLessThan(3500);
    expect(statuses.length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    await harness.stop();
  });

  it.each([
    ['before its first call', ''],
    ['between two calls', 'GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('a socket that sends only line breaks %s is gone in time', async (_name, first) => {
    const harness = await Harness.start({ front: { headersTimeoutMs: 300, keepAliveMs: 300 } });
    await harness.serve([routerFunction({ instances: [await harness.instance((_req, res) => void res.end('ok'))] })]);
    const socket = harness.connect();
    socket.write(first);
    await readWhileSending(socket, '\r\n');
    await harness.stop();
  });

  it.each([
    ['a call that is refused', 'POST /run/nothing HTTP/1.1\r\nHost: a\r\n'],
    [
      'a preflight',
      'OPTIONS /run/hello HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\nAccess-Control-Request-Method: GET\r\n',
    ],
  ])('R11: a socket whose body does not end, after %s was answered, is gone a second later', async (_name, head) => {
    const clock = new FakeClock();
    const harness = await Harness.start({ clock });
    const cors = { origins: ['*'], credentials: false, maxAge: 60, allowHeaders: [], exposeHeaders: [] };
    await clock.advanceUntil(harness.serve([routerFunction({ cors })]));
    const socket = harness.connect();
    socket.write(`${head}Content-Length: 100000\r\n\r\nx`);
    await once(socket, 'data');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await clock.advance(1100);
    await closed;
    await harness.stop();
  });

  it.each([
    ['calls that are refused', 'GET /run/nothing HTTP/1.1\r\nHost: a\r\n\r\n'],
    [
      'preflights',
      'OPTIONS /run/hello HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\nAccess-Control-Request-Method: GET\r\n\r\n',
    ],
  ])('R12: a socket that sends %s, and reads no answer, is gone in time', async (_name, head) => {
    const clock = new FakeClock();
    const harness = await Harness.start({ clock });
    const cors = { origins: ['*'], credentials: false, maxAge: 60, allowHeaders: [], exposeHeaders: [] };
    await clock.advanceUntil(harness.serve([routerFunction({ cors })]));
    const socket = harness.connect().pause();
    // More than the kernel keeps for a caller that does not read.
    socket.write(head.repeat(Math.ceil(6_000_000 / head.length)));
    await clock.advanceUntil(new Promise((resolve) => socket.once('close', resolve)));
    expect(socket.bytesRead).toBe(0);
    await harness.stop();
  });
});

describe('drain', () => {
  it('finishes what runs on kept-alive connections, has callers reconnect, and fails no call', async () => {
    const port = await quietPort();
    const harness = await Harness.start({}, port);
    const release = Promise.withResolvers<void>();
    let [arrived, begun] = [0, 0];
    const instance = await harness.instance((req, res) => {
      arrived++;
      if (req.url === '/hello?begun') res.write('begun ');
      void release.promise.then(() => res.end('whole'));
    });
    await harness.serve([routerFunction({ instances: [instance] })]);
    const agent = new Agent({ keepAlive: true });
    const call = async (target: string): Promise<[IncomingMessage, string]> => {
      const req = request({ host: '127.0.0.1', port, path: target, agent });
      req.end();
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      begun += 1;
      let text = '';
      for await (const chunk of res) text += String(chunk);
      return [res, text];
    };
    const calls = [call('/run/hello?begun'), call('/run/hello?waiting')];
    await eventually(() => arrived === 2 && begun === 1);
    const drained = harness.router.drain({ lameDuckMs: 0, boundMs: 10_000 });
    release.resolve();
    const [first, waiting] = await Promise.all(calls);
    expect([first?.[1], waiting?.[1]]).toEqual(['begun whole', 'whole']);
    expect(waiting?.[0].headers.connection).toBe('close');
    await drained;
    await expect(httpCall(port, '/run/hello')).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
    await harness.stop();
  });

  it('answers in its lame-duck time, and cuts what runs past its bound', async () => {
    const clock = new FakeClock();
    const harness = await Harness.start({ clock });
    const arrived = Promise.withResolvers<void>();
    const instance = await harness.instance((req, res) => {
      if (req.url === '/hello?hangs') arrived.resolve();
      else res.end('ok');
    });
    await clock.advanceUntil(harness.serve([routerFunction({ instances: [instance] })]));
    const hanging = harness.call('/run/hello?hangs').catch((error: Error) => error.message);
    await arrived.promise;
    let isDrained = false;
    const drained = harness.router.drain({ lameDuckMs: 1000, boundMs: 500 }).then(() => (isDrained = true));
    await clock.advance(999);
    const answer = await harness.call('/run/hello');
    expect([answer.body, answer.headers.connection]).toEqual(['ok', 'close']);
    await clock.advance(500);
    expect(isDrained).toBe(false);
    await clock.advance(1);
    await drained;
    expect(await hanging).toBe('socket hang up');
    await harness.stop();
  });
});

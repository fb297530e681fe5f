import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { z } from 'zod';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { EventStreams, type EventStream } from './event-stream.ts';

const MIB = 1024 * 1024;

describe('event streams', () => {
  let clock: FakeClock;
  let streams: EventStreams;
  let server: Server;
  let allowed: boolean;
  const opened: { stream: EventStream; response: ServerResponse }[] = [];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    clock = new FakeClock();
    streams = new EventStreams(clock);
    allowed = true;
    server = createServer(({ url }, response) => {
      try {
        const user = url === '/' ? undefined : url;
        const options = { data: z.strictObject({ text: z.string() }), isAllowed: () => allowed, operation: 'test' };
        opened.push({ stream: streams.open(response, { ...options, user }), response });
      } catch (error) {
        response.writeHead(503).end((error as Error).message);
      }
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    opened.length = 0;
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });

  const port = (): number => (server.address() as AddressInfo).port;
  /** A listener with what it has received. @param path stands for its user; without it, it has a key. */
  const listen = async (
    path = '/',
  ): Promise<{
    answer: IncomingMessage;
    text: () => string;
    ended: Promise<unknown>;
    stream: EventStream;
  }> => {
    const answer = await new Promise<IncomingMessage>(
      (resolve, reject) =>
        void get({ port: port(), host: '127.0.0.1', path, agent: false }, resolve).on('error', reject),
    );
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    answer.on('error', () => undefined);
    const ended = new Promise((resolve) => void answer.once('close', resolve));
    return { answer, text: () => text, ended, stream: opened.at(-1)!.stream };
  };
  /** A listener that never reads. */
  const listenSilently = async (): Promise<(typeof opened)[number]> => {
    const before = opened.length;
    const socket = connect({ port: port(), host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    while (opened.length === before) await new Promise(setImmediate);
    return opened.at(-1)!;
  };

  it('have the headers of the format, an id and one line of data an event, whatever is in it', async () => {
    const { answer, text, ended, stream } = await listen();
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    stream.send({ id: '7', data: { text: 'a\n\nid: 9\ndata: forged\r\u2028' } });
    stream.send({ event: 'reset', data: { text: '' } });
    stream.end();
    await ended;
    expect(text()).toBe(
      'retry: 1000\n\n' +
        'id: 7\ndata: {"text":"a\\n\\nid: 9\\ndata: forged\\r\u2028"}\n\n' +
        'event: reset\ndata: {"text":""}\n\n',
    );
  });

  it.each([{ id: '1\n2' }, { event: 'a\rb' }, { id: '1\0' }])(
    'refuse a field that would end its line: %j',
    async (field) => {
      const { stream } = await listen();
      expect(() => stream.send({ ...field, data: { text: '' } })).toThrow('a field of an event cannot be');
    },
  );

  it('send nothing that their schema does not name', async () => {
    const { stream } = await listen();
    expect(() => stream.send({ data: { text: '', value: 'confidential' } })).toThrow('value');
  });

  it('send a comment after 15 s in which nothing was sent', async () => {
    const { text, ended, stream } = await listen();
    await clock.advance(14_000);
    stream.send({ data: { text: 'x' } });
    await clock.advance(14_000);
    stream.send({ data: { text: 'y' } });
    await clock.advance(15_000);
    stream.end();
    await ended;
    expect(text()).toBe('retry: 1000\n\ndata: {"text":"x"}\n\ndata: {"text":"y"}\n\n:\n\n');
  });

  it('M10: hold a bounded amount for a listener that does not read, then disconnect it; another gets everything', async () => {
    const { stream: slow, response } = await listenSilently();
    const { text, ended, stream: fast } = await listen();
    const event = { data: { text: 'x'.repeat(10_000) } };
    let largest = 0;
    let sent = 0;
    for (; !slow.isClosed; sent += 1) {
      slow.send(event);
      if (!slow.isClosed) largest = Math.max(largest, response.writableLength);
      fast.send(event);
      await fast.ready();
    }
    expect(largest).toBeLessThanOrEqual(MIB);
    expect(response.destroyed).toBe(true);
    fast.end();
    await ended;
    expect(text().match(/data: /g)).toHaveLength(sent);
  });

  it('say when a listener lags, and when it has caught up', async () => {
    const { stream } = await listenSilently();
    let sent = 0;
    while (stream.send({ data: { text: 'x'.repeat(10_000) } })) sent += 1;
    expect([stream.isClosed, sent > 0]).toEqual([false, true]);
    const caughtUp = stream.ready();
    sockets[0]!.resume();
    await caughtUp;
    expect(stream.send({ data: { text: '' } })).toBe(true);
  });

  it('M10: disconnect a listener that takes nothing for a minute', async () => {
    const { stream, response } = await listenSilently();
    // The kernel takes some; what it does not take stays here.
    for (let left = 0, turns = 0; turns < 20; turns += 1) {
      if (response.writableLength !== left || left === 0) turns = 0;
      if (response.writableLength < MIB / 2) stream.send({ data: { text: 'x'.repeat(10_000) } });
      left = response.writableLength;
      await new Promise(setImmediate);
    }
    await clock.advance(59_000);
    expect(stream.isClosed).toBe(false);
    await clock.advance(1000);
    expect(stream.isClosed).toBe(true);
    await stream.ready();
  });

  it('end within a second when the caller loses access, and before the next event', async () => {
    const first = await listen();
    const second = await listen();
    allowed = false;
    expect(first.stream.send({ data: { text: 'late' } })).toBe(false);
    await clock.advance(1000);
    await Promise.all([first.ended, second.ended]);
    expect([first.text(), second.text()]).toEqual(['retry: 1000\n\n', 'retry: 1000\n\n']);
  });

  it('leave no timer behind when the listener leaves', async () => {
    const { answer, stream } = await listen();
    expect(clock.pending).toBe(1);
    answer.destroy();
    await stream.closed;
    expect([stream.isClosed, clock.pending]).toEqual([true, 0]);
    stream.end();
  });

  it('M10: are bounded in number; one that ends makes room', async () => {
    const { stream } = await listen();
    const others = Array.from({ length: 255 }, () => listen());
    await Promise.all(others);
    expect((await listen()).answer.statusCode).toBe(503);
    stream.end();
    await stream.closed;
    expect((await listen()).answer.statusCode).toBe(200);
  });

  it('M10: of one user are a quarter at the most, and leave the others to everybody else', async () => {
    await Promise.all(Array.from({ length: 64 }, () => listen('/ada')));
    expect((await listen('/ada')).answer.statusCode).toBe(503);
    for (const path of ['/grace', '/']) expect((await listen(path)).answer.statusCode).toBe(200);
    opened[0]?.stream.end();
    await opened[0]?.stream.closed;
    expect((await listen('/ada')).answer.statusCode).toBe(200);
  });

  it('end when the manager drains, and no other begins', async () => {
    const { ended } = await listen();
    streams.drain();
    await ended;
    expect((await listen()).answer.statusCode).toBe(503);
  });
});

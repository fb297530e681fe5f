import { once } from 'node:events';
import { createServer as createPlain, type AddressInfo, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { HEARTBEAT_SECONDS } from '@wherry/core/feed/messages.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { systemClock } from '../clock.ts';
import { TestAuthority } from '../testing/test-certificates.ts';
import type { TlsMaterial } from '../tls/tls-files.ts';
import { connectFeed, type FeedConnection, type FeedConnectionOptions } from './feed-connection.ts';
import { jsonLines } from './json-lines.ts';

/** Time moves where a test advances it, and by each backoff, which is over at once; how long each was is kept. */
class BackoffClock extends FakeClock {
  readonly waits: number[] = [];
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.waits.push(ms);
    signal?.throwIfAborted();
    await this.advance(ms);
  }
}

const HEARTBEAT_MS = HEARTBEAT_SECONDS * 1000;
const HELLO = { type: 'hello', role: 'router', instance: 'r', resourceVersion: '7' } as const;

describe('connectFeed', () => {
  const authority = new TestAuthority();
  const another = new TestAuthority();
  const [named, misnamed, client] = [
    authority.issue('operator', ['localhost']),
    authority.issue('operator', ['elsewhere']),
    authority.issue('router'),
  ] as const;
  afterAll(() => {
    authority.remove();
    another.remove();
  });

  let server: Server;
  let sockets: TLSSocket[];
  let address: string;
  let clock: BackoffClock;
  let logger: FakeLogger;
  let connection: FeedConnection | undefined;
  const channels: FeedChannel[] = [];

  async function serve(material: TlsMaterial, options: object = {}, port = 0): Promise<void> {
    sockets = [];
    server = createServer({ ...material, requestCert: true, rejectUnauthorized: true, ...options }, (socket) => {
      socket.on('error', () => undefined);
      sockets.push(socket);
    });
    server.on('tlsClientError', () => undefined);
    server.listen(port, 'localhost');
    await once(server, 'listening');
    address = `localhost:${(server.address() as AddressInfo).port}`;
  }
  function follow(options: Partial<FeedConnectionOptions> = {}): FeedConnection {
    const serveOne = async (channel: FeedChannel): Promise<void> => {
      channels.push(channel);
      await channel.closed;
    };
    return (connection = connectFeed({
      address,
      credentials: () => client,
      hello: () => HELLO,
      serve: serveOne,
      clock,
      logger,
      ...options,
    }));
  }
  /** The next `count` heartbeats, each at its time and read before the next. */
  async function heartbeats(channel: FeedChannel, socket: TLSSocket, count: number): Promise<void> {
    const messages = channel.messages()[Symbol.asyncIterator]();
    for (let n = 0; n < count; n += 1) {
      socket.write('{"type":"heartbeat"}\n');
      await messages.next();
      await clock.advance(HEARTBEAT_MS);
    }
  }
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await systemClock.sleep(2);
  }
  beforeEach(() => {
    clock = new BackoffClock();
    logger = new FakeLogger();
    channels.length = 0;
  });
  afterEach(async () => {
    const stopped = connection?.stop();
    for (const socket of sockets) socket.destroy();
    server.close();
    await stopped;
  });

  it('says hello first, and hands the connection on', async () => {
    await serve(named);
    follow();
    await until(() => sockets.length === 1);
    const messages = jsonLines(sockets[0]!).messages()[Symbol.asyncIterator]();
    expect((await messages.next()).value).toEqual(HELLO);
    await until(() => channels.length === 1);
    expect(connection?.isConnected()).toBe(true);
    channels[0]?.send({ type: 'applied', version: 1 });
    expect((await messages.next()).value).toEqual({ type: 'applied', version: 1 });
  });

  it('comes back when the connection ends, with a hello of that time', async () => {
    await serve(named);
    let version = 7;
    follow({ hello: () => ({ ...HELLO, resourceVersion: String(version++) }) });
    for (const expected of ['7', '8', '9']) {
      await until(() => sockets.length === 1);
      const socket = sockets.shift();
      const { value } = await jsonLines(socket!).messages()[Symbol.asyncIterator]().next();
      expect(value).toMatchObject({ resourceVersion: expected });
      socket?.destroy();
    }
  });

  it('waits longer each time, up to 5 s, with jitter, and says so once', async () => {
    const port = await quietPort(['localhost']);
    await serve(named, {}, port);
    server.close();
    follow();
    await until(() => clock.waits.length >= 9);
    const most = [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000];
    most.forEach((ms, at) => {
      expect(clock.waits[at]).toBeLessThanOrEqual(ms);
      expect(clock.waits[at]).toBeGreaterThanOrEqual(ms / 2);
    });
    expect(logger.of('warn')).toHaveLength(1);
    expect(logger.of('warn')[0]?.fields).toMatchObject({
      address,
      problem: expect.stringContaining('ECONNREFUSED') as string,
    });
    // It never gives up: the operator that comes at last is found.
    await serve(named, {}, port);
    await until(() => sockets.length > 0);
  });

  it('a connection that ends at once is not tried in a hot loop; one that was well is back at once', async () => {
    await serve(named);
    server.on('secureConnection', (socket) => void (sockets.length < 6 && socket.destroy()));
    follow();
    await until(() => channels.length > 0 && clock.waits.length >= 5);
    expect(clock.waits[4]).toBeGreaterThanOrEqual(800);
    await until(() => sockets.length >= 6 && connection?.isConnected() === true);
    const well = sockets.at(-1)!;
    await heartbeats(channels.at(-1)!, well, 6);
    const waits = clock.waits.length;
    well.destroy();
    await until(() => clock.waits.length > waits);
    expect(clock.waits[waits]).toBeLessThanOrEqual(100);
  });

  it.each<[string, TlsMaterial, object]>([
    ['does not match the request', misnamed, {}],
    ['is of another authority', another.issue('operator', ['localhost']), {}],
    ['speaks TLS 1.2 alone', named, { maxVersion: 'TLSv1.2' }],
  ])('says nothing to a server that %s', async (_name, material, options) => {
    await serve(material, { rejectUnauthorized: false, ...options });
    let received = '';
    server.on('secureConnection', (socket) => socket.on('data', (chunk: Buffer) => (received += chunk.toString())));
    follow();
    await until(() => clock.waits.length >= 3);
    expect([received, channels]).toEqual(['', []]);
    expect(logger.of('warn')).toHaveLength(1);
  });

  it('reconnects when three heartbeats are missing, and not while they come', async () => {
    await serve(named);
    follow();
    await until(() => channels.length === 1 && sockets.length === 1);
    await heartbeats(channels[0]!, sockets[0]!, 5);
    await clock.advance(3 * HEARTBEAT_MS - 1);
    expect(clock.waits).toEqual([]);
    await clock.advance(1);
    await until(() => channels.length === 2);
    expect(logger.of('warn').map(({ message }) => message)).toEqual(['the feed is silent; reconnecting']);
  });

  it('gives up a server that takes the connection and says nothing', async () => {
    const mutes: Socket[] = [];
    const mute = createPlain((socket) => void mutes.push(socket)).listen(0, 'localhost');
    await once(mute, 'listening');
    await serve(named);
    follow({ address: `localhost:${(mute.address() as AddressInfo).port}` });
    await until(() => mutes.length === 1);
    await clock.advance(5000);
    await until(() => mutes.length === 2);
    expect(logger.of('warn')[0]?.fields).toMatchObject({ problem: 'no answer within 5 s' });
    await connection?.stop();
    for (const socket of mutes) socket.destroy();
    mute.close();
  });

  it('stops for good, and what was sent before arrives', async () => {
    await serve(named);
    follow();
    await until(() => channels.length === 1 && sockets.length === 1);
    const received: unknown[] = [];
    const reading = (async () => {
      for await (const message of jsonLines(sockets[0]!).messages()) received.push(message);
    })();
    for (let n = 0; n < 500; n += 1) channels[0]?.send({ n, filler: 'x'.repeat(1000) });
    await connection?.stop();
    await reading;
    expect(received).toHaveLength(501);
    expect(connection?.isConnected()).toBe(false);
    expect(sockets).toHaveLength(1);
  });

  it('stops although its peer reads nothing', async () => {
    await serve(named);
    follow();
    await until(() => channels.length === 1 && sockets.length === 1);
    sockets[0]?.pause();
    channels[0]?.send({ filler: 'x'.repeat(12 * 1024 * 1024) });
    await connection?.stop();
  });

  it('stops while there is nobody to connect to', async () => {
    await serve(named);
    server.close();
    follow();
    await until(() => clock.waits.length > 1);
    await connection?.stop();
  });
});

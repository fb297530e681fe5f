import { createSecretKey } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { feedToken } from '@wherry/core/feed/feed-token.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { RuntimeIdentity } from '@wherry/core/ports/runtime-feed.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { TestAuthority } from '@wherry/service/testing/test-certificates.ts';
import type { TlsMaterial } from '@wherry/service/tls/tls-files.ts';
import { createFeedListener, type FeedListener, type FeedListenerOptions } from './feed-listener.ts';

const current = createSecretKey(Buffer.alloc(32, 1));
const previous = createSecretKey(Buffer.alloc(32, 2));

function identityOf(instanceId: string): RuntimeIdentity {
  return {
    instanceId,
    workload: 'hello-1',
    functionName: 'hello',
    revision: sha256(instanceId),
    listen: { host: '127.0.0.1', port: 8080 },
  };
}

describe('the feed over the network', () => {
  let authority: TestAuthority;
  let otherAuthority: TestAuthority;
  let own: TlsMaterial;
  let router: TlsMaterial;
  beforeAll(() => {
    authority = new TestAuthority();
    otherAuthority = new TestAuthority();
    own = authority.issue('operator', ['localhost', '127.0.0.1']);
    router = authority.issue('router');
  });
  afterAll(() => {
    authority.remove();
    otherAuthority.remove();
  });

  let listener: FeedListener;
  let port: number;
  let logger: FakeLogger;
  let metrics: FakeMetrics;
  let attached: { role: string; instance: string; channel: FeedChannel; received: unknown[] }[];
  /** The address of each pod. */
  let pods: Record<string, string>;
  const sockets: Socket[] = [];

  async function listen(options: Partial<FeedListenerOptions> = {}): Promise<void> {
    logger = new FakeLogger();
    metrics = new FakeMetrics();
    attached = [];
    pods = { 'pod-1': '127.0.0.1', 'pod-2': '127.0.0.2' };
    const attach = (channel: FeedChannel, role: string, instance: string): void => {
      const received: unknown[] = [];
      attached.push({ role, instance, channel, received });
      channel.send({ type: 'welcome' });
      void (async () => {
        for await (const message of channel.messages()) received.push(message);
      })();
    };
    const tls = { current: () => own, onChange: () => () => undefined };
    listener = createFeedListener({
      tls,
      attachRouter: (channel, { instance }) => attach(channel, 'router', instance),
      identifyRuntime: async ({ instance }, { address }) =>
        pods[instance] === address ? identityOf(instance) : undefined,
      attachRuntime: (channel, { instanceId }) => attach(channel, 'runtime', instanceId),
      feedKeys: () => [current, previous],
      clock: systemClock,
      logger,
      metrics,
      ...options,
    });
    port = await listener.listen(0, '127.0.0.1');
  }
  beforeEach(() => listen());
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listener.close();
  });

  /** @param localAddress that the client connects from. */
  async function open({
    localAddress = '127.0.0.1',
    ...client
  }: Partial<TlsMaterial> & { localAddress?: string } = {}): Promise<TLSSocket> {
    // Its type lacks `localAddress`, which it hands to the socket.
    const socket = connect({ port, host: '127.0.0.1', ca: authority.ca, localAddress, ...client } as ConnectionOptions);
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  }
  const hello = {
    router: { type: 'hello', role: 'router', instance: 'router-1', resourceVersion: '0' },
    runtime: (functionUid = 'uid-1', token = feedToken(current, functionUid), instance = 'pod-1') => ({
      type: 'hello',
      role: 'runtime',
      instance,
      workload: 'hello-1',
      functionUid,
      token,
    }),
  };
  const say = (socket: Socket, ...messages: object[]): void =>
    void socket.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  /** Everything that the listener sends until it ends the connection. */
  async function readToEnd(socket: Socket): Promise<string> {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
    return text;
  }
  async function firstOf(socket: Socket): Promise<unknown> {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return JSON.parse(chunk.toString());
  }
  const refusals = (reason: string): number | undefined => metrics.value('feed_refusals_total', { reason });

  it('serves a router that shows its certificate', async () => {
    const socket = await open(router);
    say(socket, hello.router, { type: 'applied', version: 1 });
    expect(await firstOf(socket)).toEqual({ type: 'welcome' });
    expect(attached).toMatchObject([{ role: 'router', instance: 'router-1' }]);
    expect(metrics.value('feed_connections', { role: 'router' })).toBe(1);
    say(socket, { type: 'applied', version: 2 });
    socket.end();
    await attached[0]?.channel.closed;
    // What came along with the hello is heard too.
    expect(attached[0]?.received).toEqual([
      { type: 'applied', version: 1 },
      { type: 'applied', version: 2 },
    ]);
    expect(metrics.value('feed_connections', { role: 'router' })).toBe(0);
  });

  it.each([
    ['current', current],
    ['previous', previous],
  ])('serves a runtime with a token of the %s feed key', async (_name, key) => {
    const socket = await open();
    say(socket, hello.runtime('uid-1', feedToken(key, 'uid-1')));
    expect(await firstOf(socket)).toEqual({ type: 'welcome' });
    expect(attached).toMatchObject([{ role: 'runtime', instance: 'pod-1' }]);
  });

  it.each<[string, () => object, string]>([
    ['a wrong token', () => hello.runtime('uid-1', 'x'.repeat(43)), 'token'],
    ['no token', () => hello.runtime('uid-1', ''), 'token'],
    ['the token of another function', () => hello.runtime('uid-1', feedToken(current, 'uid-2')), 'token'],
    [
      'a token of a key that is no longer taken',
      () => hello.runtime('uid-1', feedToken(createSecretKey(Buffer.alloc(32, 3)), 'uid-1')),
      'token',
    ],
    ['the role of a router without a certificate', () => hello.router, 'certificate'],
    [
      'a state that is no number, which the operator would have to reach',
      () => ({ ...hello.router, resourceVersion: 'v7' }),
      'bad_hello',
    ],
    ['another message before its hello', () => ({ type: 'applied', version: 1 }), 'bad_hello'],
    ['a hello with more in it', () => ({ ...hello.runtime(), revision: 'x' }), 'bad_hello'],
    ['a hello over 4 KiB', () => ({ ...hello.runtime(), workload: 'x'.repeat(4096) }), 'no_hello'],
  ])('cuts off a client with %s, without a word', async (_name, message, reason) => {
    const socket = await open();
    say(socket, message());
    expect(await readToEnd(socket)).toBe('');
    expect(attached).toEqual([]);
    expect(refusals(reason)).toBe(1);
  });

  it('logs who was refused, and no token', async () => {
    const token = feedToken(current, 'uid-2');
    const socket = await open();
    say(socket, hello.runtime('uid-1', token));
    await readToEnd(socket);
    const [line] = logger.of('warn');
    expect(line?.fields).toMatchObject({ reason: 'token', instance: 'pod-1', functionUid: 'uid-1', peer: '127.0.0.1' });
    expect(JSON.stringify([logger.of('warn'), logger.of('debug'), logger.of('info')])).not.toContain(token);
  });

  it.each<[string, () => TlsMaterial, object]>([
    ['of another authority', () => otherAuthority.issue('router'), hello.router],
    ['of another authority, with a good token beside it', () => otherAuthority.issue('router'), hello.runtime()],
    ["of the authority, but not a router's", () => own, hello.router],
  ])('cuts off a client with a certificate %s', async (_name, material, message) => {
    const { cert, key } = material();
    const socket = await open({ cert, key });
    say(socket, message);
    expect(await readToEnd(socket)).toBe('');
    expect([attached, refusals('certificate')]).toEqual([[], 1]);
  });

  it('cuts off a client that sends nothing, a line without an end, or a byte now and then', async () => {
    const [silent, endless, slow] = await Promise.all([open(), open(), open()]);
    const start = machineTime();
    endless.write('x'.repeat(20_000));
    expect(await readToEnd(endless)).toBe('');
    expect(machineTime() - start).toBeLessThan(2000);
    const drip = setInterval(() => slow.write(' '), 100);
    await Promise.all([readToEnd(silent), readToEnd(slow)]).finally(() => clearInterval(drip));
    expect(machineTime() - start).toBeLessThan(8000);
    expect([attached, refusals('no_hello')]).toEqual([[], 3]);
  });

  it('cuts off who never ends the handshake, and who speaks no TLS or an older one', async () => {
    const mute = connectPlain(port, '127.0.0.1');
    const http = connectPlain(port, '127.0.0.1');
    const old = connect({ port, host: '127.0.0.1', ca: authority.ca, maxVersion: 'TLSv1.2' });
    sockets.push(mute, http, old);
    for (const socket of [mute, http, old]) socket.on('error', () => undefined);
    http.write('GET / HTTP/1.1\r\n\r\n');
    await Promise.all([readToEnd(mute), readToEnd(http), readToEnd(old)]);
    expect(refusals('handshake')).toBe(3);
  });

  it('ends a connection at a second hello', async () => {
    const socket = await open(router);
    say(socket, hello.router, { type: 'applied', version: 1 }, { ...hello.router, instance: 'router-2' });
    await readToEnd(socket);
    expect(attached).toMatchObject([{ instance: 'router-1', received: [{ type: 'applied', version: 1 }] }]);
  });

  it('holds a bounded number of unauthenticated connections, and serves those that are authenticated', async () => {
    await listener.close();
    await listen({ limits: { total: 10, perAddress: 3, perWindow: 100 } });
    const known = await Promise.all([open(router), open(router)]);
    for (const socket of known) {
      say(socket, hello.router);
      await firstOf(socket);
    }
    const pending = Array.from({ length: 3 }, () => connectPlain(port, '127.0.0.1'));
    sockets.push(...pending);
    await Promise.all(pending.map((socket) => once(socket, 'connect')));
    const refused = connectPlain(port, '127.0.0.1');
    refused.on('error', () => undefined);
    await readToEnd(refused);
    expect(refusals('too_many')).toBe(1);
    pending[0]?.destroy();
    // Its place is free again, and the known ones took none.
    let served: unknown;
    while (served === undefined)
      served = await open(router).then(
        (socket) => (say(socket, hello.router), firstOf(socket)),
        () => undefined,
      );
    expect(served).toEqual({ type: 'welcome' });
  });

  it('S8: takes a token only from the address of the pod that it is said for', async () => {
    const thief = await open({ localAddress: '127.0.0.3' });
    say(thief, hello.runtime());
    expect(await readToEnd(thief)).toBe('');
    expect([attached, refusals('pod')]).toEqual([[], 1]);
    expect(logger.of('warn')[0]?.fields).toMatchObject({
      reason: 'pod',
      instance: 'pod-1',
      functionUid: 'uid-1',
      peer: '127.0.0.3',
    });
  });

  it('S8: a good token proves nothing before its pod is found: the connection counts as pending, and is let go with its client', async () => {
    await listener.close();
    const ends: Promise<unknown>[] = [];
    const identifyRuntime: FeedListenerOptions['identifyRuntime'] = async (_hello, { gone }) => {
      ends.push(once(gone, 'abort'));
      await ends.at(-1);
      return undefined;
    };
    await listen({ identifyRuntime, limits: { total: 10, perAddress: 3, perWindow: 100 } });
    const waiting = await Promise.all([open(), open(), open()]);
    for (const socket of waiting) say(socket, hello.runtime());
    await eventually(() => expect(ends).toHaveLength(3));
    const refused = connectPlain(port, '127.0.0.1');
    refused.on('error', () => undefined);
    await readToEnd(refused);
    expect(refusals('too_many')).toBe(1);
    for (const socket of waiting) socket.destroy();
    await Promise.all(ends);
    expect([attached, metrics.value('feed_connections', { role: 'runtime' })]).toEqual([[], 0]);
  });

  it('S8: when all connections are taken, the address that holds most of them gives its oldest one to a newcomer', async () => {
    await listener.close();
    await listen({ limits: { total: 4, perAddress: 3, perWindow: 100 } });
    const idle = async (localAddress: string): Promise<Socket> => {
      const socket = connectPlain({ port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const oldest = await idle('127.0.0.3');
    for (const address of ['127.0.0.3', '127.0.0.3', '127.0.0.4']) await idle(address);
    const newcomer = await open({ ...router, localAddress: '127.0.0.5' });
    say(newcomer, hello.router);
    expect(await firstOf(newcomer)).toEqual({ type: 'welcome' });
    await readToEnd(oldest);
    expect(refusals('too_many')).toBe(1);
  });

  it('S8: an address makes a bounded number of connections within ten seconds, and others make theirs', async () => {
    await listener.close();
    await listen({ limits: { total: 10, perAddress: 10, perWindow: 5 } });
    for (let made = 0; made < 5; made += 1) {
      const socket = await open();
      say(socket, hello.runtime());
      await firstOf(socket);
    }
    await expect(open()).rejects.toThrow();
    const other = await open({ localAddress: '127.0.0.2' });
    say(other, hello.runtime('uid-1', undefined, 'pod-2'));
    expect(await firstOf(other)).toEqual({ type: 'welcome' });
    expect(refusals('too_many')).toBe(1);
  });

  it('serves a runtime for longer than a hello may take', async () => {
    await listener.close();
    const clock = new FakeClock();
    await listen({ clock, attachRuntime: (channel) => (channel.send({ type: 'welcome' }), channel.closed) });
    const socket = await open();
    say(socket, hello.runtime());
    await firstOf(socket);
    await clock.advance(6000);
    expect(refusals('no_hello')).toBe(0);
    expect(socket.destroyed).toBe(false);
  });

  it('S8: holds one connection a pod: the newest', async () => {
    const first = await open();
    say(first, hello.runtime());
    await firstOf(first);
    const second = await open();
    const other = await open({ localAddress: '127.0.0.2' });
    say(second, hello.runtime());
    say(other, hello.runtime('uid-1', undefined, 'pod-2'));
    await Promise.all([readToEnd(first), firstOf(second), firstOf(other)]);
    expect([second.destroyed, other.destroyed]).toEqual([false, false]);
  });

  it('ends the connection of a client that cannot be served', async () => {
    await listener.close();
    await listen({ attachRuntime: async () => Promise.reject(new Error('there is no such pod')) });
    const socket = await open();
    say(socket, hello.runtime());
    expect(await readToEnd(socket)).toBe('');
    expect(refusals('attach')).toBe(1);
  });

  it('shows its new certificate, and trusts the new authority, without a restart', async () => {
    const next = new TestAuthority('the next one');
    let material = own;
    let onChange = (): void => undefined;
    await listener.close();
    await listen({
      tls: {
        current: () => material,
        onChange: (callback) => ((onChange = () => callback(material)), () => undefined),
      },
    });
    const before = await open(router);
    say(before, hello.router);
    await firstOf(before);
    material = { ...next.issue('operator', ['127.0.0.1']), ca: `${next.ca}${authority.ca}` };
    onChange();
    const after = await open({ ...next.issue('router'), ca: next.ca });
    say(after, hello.router);
    await firstOf(after);
    // Who came before stays, and an old certificate is good while its authority is trusted.
    const late = await open({ ...router, ca: next.ca });
    say(late, hello.router);
    await firstOf(late);
    expect(before.destroyed).toBe(false);
    next.remove();
  });
});

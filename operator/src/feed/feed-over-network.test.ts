import {
  routerDownSchema,
  runtimeDownSchema,
  type Hello,
  type RouterDown,
  type RuntimeDown,
} from '@wherry/core/feed/messages.ts';
import { feedToken } from '@wherry/core/feed/feed-token.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { logEntry } from '@wherry/testing/log-entry.ts';
import { quietPort } from '@wherry/testing/quiet-port.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { connectFeed, type FeedConnection, type FeedCredentials } from '@wherry/service/feed/feed-connection.ts';
import { TestAuthority } from '@wherry/service/testing/test-certificates.ts';
import { TestWorld, type RunningOperator } from '../testing/test-world.ts';
import { createFeedListener, type FeedListener } from './feed-listener.ts';

const ARTIFACT = 'export default () => new Response();';

/** The operator's feeds behind their listener, and the client that routers and runtimes use. */
describe('router and runtime over the network', () => {
  const authority = new TestAuthority();
  const [own, router] = [authority.issue('operator', ['localhost']), authority.issue('router')] as const;
  afterAll(() => authority.remove());

  let world: TestWorld;
  let listener: FeedListener;
  let port = 0;
  const clients: FeedConnection[] = [];

  async function listen({ operator, runtimeFeed }: RunningOperator): Promise<void> {
    listener = createFeedListener({
      tls: { current: () => own, onChange: () => () => undefined },
      attachRouter: (channel, { resourceVersion }) => void operator.attachRouter(channel, { resourceVersion }),
      identifyRuntime: async ({ instance, workload }) => ({
        instanceId: instance,
        workload,
        functionName: 'hello',
        revision: sha256(ARTIFACT),
        listen: { host: '10.0.0.7', port: 8080 },
      }),
      attachRuntime: (channel, identity) => void runtimeFeed.attach(channel, identity),
      // All clients of these tests have one address.
      limits: { total: 512, perAddress: 512, perWindow: 1000 },
      feedKeys: () => [world.feedKey],
      clock: systemClock,
      logger: new FakeLogger(),
      metrics: new FakeMetrics(),
    });
    port = await listener.listen(port, 'localhost');
  }
  beforeEach(async () => {
    port = await quietPort(['localhost']);
    world = new TestWorld();
    await world.content.put(Buffer.from(ARTIFACT));
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createFunction('hello', { keyGroups: ['team'] });
    await world.createKey('ours', 'team', 'wh_a_key_of_the_team');
    await listen(await world.start());
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.stop()));
    await listener.close();
    await world.stop();
  });

  function follow(
    hello: () => Hello,
    credentials: FeedCredentials,
  ): { down: unknown[]; channel: () => FeedChannel | undefined } {
    /** All messages but heartbeats, which come whenever their time is there. */
    const down: unknown[] = [];
    let channel: FeedChannel | undefined;
    const serve = async (connection: FeedChannel): Promise<void> => {
      channel = connection;
      for await (const message of connection.messages())
        if ((message as { type: string }).type !== 'heartbeat') down.push(message);
    };
    clients.push(
      connectFeed({
        address: `localhost:${port}`,
        credentials: () => credentials,
        hello,
        serve,
        clock: systemClock,
        logger: new FakeLogger(),
      }),
    );
    return { down, channel: () => channel };
  }
  /** The operator's time goes on while the sockets carry what it says. */
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await world.run(5);
      await systemClock.sleep(2);
    }
  }

  it('R8: a router gets its state, a revocation within a second, and from the next operator none that is older', async () => {
    let known = '0';
    const { down } = follow(
      () => ({ type: 'hello', role: 'router', instance: 'router-1', resourceVersion: known }),
      router,
    );
    const messages = (): RouterDown[] => down.map((message) => routerDownSchema.parse(message));
    await until(() => down.length === 1);
    expect(messages()[0]).toMatchObject({
      type: 'snapshot',
      functions: [{ id: 'hello' }],
      keys: [{ id: 'ours', groupId: 'team' }],
    });
    const since = world.clock.monotonic();
    await world.store.delete('ApiKey', 'ours');
    await until(() => down.length === 2);
    expect(world.clock.monotonic() - since).toBeLessThan(1000);
    const revoked = messages()[1];
    expect(revoked).toMatchObject({ type: 'change', removedKeys: [expect.any(String)] });
    known = revoked?.resourceVersion ?? '';
    await listener.close();
    await listen(await world.start());
    await until(() => down.length >= 3);
    const next = messages()[2];
    expect(next).toMatchObject({ type: 'snapshot', keys: [] });
    expect(BigInt(next?.resourceVersion ?? 0)).toBeGreaterThanOrEqual(BigInt(known));
  });

  it('a runtime gets its code with its token, then what changes; its log entries are of its own function (S6)', async () => {
    const token = feedToken(world.feedKey, 'uid-1');
    const hello: Hello = {
      type: 'hello',
      role: 'runtime',
      instance: 'hello-1-a',
      workload: 'hello-1',
      functionUid: 'uid-1',
      token,
    };
    const { down, channel } = follow(() => hello, { ca: authority.ca });
    const messages = (): RuntimeDown[] => down.map((message) => runtimeDownSchema.parse(message));
    await until(() => down.length === 1);
    expect(messages()).toMatchObject([{ type: 'start', artifact: ARTIFACT, listen: { host: '10.0.0.7', port: 8080 } }]);
    await world.createSecret('s1', { name: 'A', scope: 'global' }, 'value');
    await until(() => down.length === 2);
    expect(messages()[1]).toMatchObject({ type: 'state', state: { secrets: [{ name: 'A', value: 'value' }] } });
    const entry = logEntry({ functionName: 'another' });
    channel()?.send({ type: 'logs', entries: [entry], dropped: 0 });
    await until(() => world.telemetry.entries.length === 1);
    expect(world.telemetry.entries).toEqual([{ ...entry, functionName: 'hello' }]);
  });

  it('100 clients that lost their operator are all served by the next one', async () => {
    const served = Array.from({ length: 100 }, (_, n) =>
      follow(() => ({ type: 'hello', role: 'router', instance: `router-${n}`, resourceVersion: '0' }), router),
    );
    await until(() => served.every(({ down }) => down.length > 0));
    await listener.close();
    const before = served.map(({ down }) => down.length);
    await listen(await world.start());
    await until(() => served.every(({ down }, n) => down.length > (before[n] ?? 0)));
  }, 60_000);
});

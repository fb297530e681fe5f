import { eventually } from '@wherry/testing/eventually.ts';
import { group } from '@wherry/testing/contracts/resource-store-samples.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createInformer, type Informer } from '@wherry/service/informer.ts';
import { connectKube, type KubeClient } from '../client/kube-client.ts';
import { WATCH_LIMITS } from '../client/watch-objects.ts';
import { KubeStore } from '../store/kube-store.ts';
import { startApiServer, type ApiServer } from './api-server.ts';
import { startFaultProxy, type FaultProxy, type ProxiedRequest } from './fault-proxy.ts';
import { installCrds, makeNamespace } from './install-crds.ts';

/** A watch request of 1 or 2 s in place of 30 to 39, so that a silent one is cut after 6 or 7 s. */
const LIMITS = { requestSeconds: 1, pauseMs: 100 };
const SILENCE_LIMIT_MS = 12_000;
const TEST_LIMIT_MS = 40_000;
const EXPIRED = `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } })}\n`;

let server: ApiServer;
let direct: KubeClient;
beforeAll(async () => {
  server = await startApiServer();
  direct = await connect(server.kubeconfig);
  await installCrds(direct);
}, 120_000);
afterAll(async () => {
  await direct.close();
  await server.stop();
});

let proxy: FaultProxy;
let client: KubeClient;
/** Past the proxy. */
let writer: ResourceStore;
let informer: Informer<'KeyGroup'>;
let logger: FakeLogger;
beforeEach(async () => {
  proxy = await startFaultProxy(server);
  client = await connect(proxy.kubeconfig);
  const namespace = await makeNamespace(direct, 'faults');
  logger = new FakeLogger();
  writer = new KubeStore({ client: direct, namespace, clock: systemClock, logger });
  const store = new KubeStore({ client, namespace, clock: systemClock, logger, limits: LIMITS });
  informer = createInformer({ store, kind: 'KeyGroup', clock: systemClock, logger });
  await writer.create(group('before'));
  await informer.start();
  await eventually(() => expect(proxy.watches()).toHaveLength(1));
});
afterEach(async () => {
  await informer.stop();
  await client.close();
  await proxy.stop();
});

const connect = (kubeconfig: string) => connectKube({ kubeconfig, clock: systemClock });
const of = (kind: ProxiedRequest['kind']) => (request: ProxiedRequest) => request.kind === kind;
const running = () => proxy.watches()[0]!;

async function seesChange(): Promise<void> {
  const { metadata } = await writer.create(group('change'));
  await eventually(() => expect(informer.get('change')?.metadata.uid).toBe(metadata.uid), SILENCE_LIMIT_MS);
}

describe('FT3: faults of the network and of the API server: a change is seen all the same', () => {
  it.each<[string, () => void]>([
    ['the watch is dropped', () => running().cut()],
    ['the watch falls silent', () => running().silence()],
    [
      'the watch falls silent, and the next one too',
      () => {
        proxy.inject({ when: of('watch'), fault: { type: 'silence' }, times: 1 });
        running().silence();
      },
    ],
    ['410 comes in the stream', () => running().send(EXPIRED)],
    [
      '410 comes at connect',
      () => {
        proxy.inject({ when: of('watch'), fault: { type: 'answer', code: 410 }, times: 3 });
        running().cut();
      },
    ],
    [
      '410 comes as each stream begins',
      () => {
        proxy.inject({ when: of('watch'), fault: { type: 'event', line: EXPIRED }, times: 3 });
        running().cut();
      },
    ],
    ['a line is no JSON', () => running().send('{"type":"ADDED","object":\n')],
    ['an event is none', () => running().send('{"type":"ADDED"}\n')],
    ['an object has no metadata', () => running().send('{"type":"ADDED","object":{}}\n')],
    [
      'a list fails with 500',
      () => {
        proxy.inject({ when: of('list'), fault: { type: 'answer', code: 500 }, times: 3 });
        running().cut();
      },
    ],
    [
      'a list is throttled',
      () => {
        proxy.inject({ when: of('list'), fault: { type: 'answer', code: 429 }, times: 3 });
        running().cut();
      },
    ],
    [
      'connections are dropped',
      () => {
        proxy.inject({ when: () => true, fault: { type: 'drop' }, times: 4 });
        running().cut();
      },
    ],
    [
      'everything is slow',
      () => {
        proxy.inject({ when: () => true, fault: { type: 'delay', ms: 300 } });
        running().cut();
      },
    ],
    [
      'a change handler throws',
      () =>
        void informer.onChange(() => {
          throw new Error('broken handler');
        }),
    ],
  ])(
    '%s',
    async (_what, fault) => {
      fault();
      await seesChange();
    },
    TEST_LIMIT_MS,
  );

  it(
    'the API server is away for a while',
    async () => {
      const restore = proxy.sever();
      await writer.create(group('meanwhile'));
      await eventually(() => expect(logger.of('warn').length).toBeGreaterThan(2));
      expect(informer.get('before')).toBeDefined();
      restore();
      await seesChange();
      expect(informer.get('meanwhile')).toBeDefined();
    },
    TEST_LIMIT_MS,
  );

  it('learns at once what a lagging watch has not brought', async () => {
    running().silence();
    const { metadata } = await writer.create(group('change'));
    const began = machineTime();
    await informer.reach(metadata.resourceVersion);
    expect(informer.get('change')?.metadata.uid).toBe(metadata.uid);
    expect(machineTime() - began).toBeLessThan(3000);
  });

  it('in a cluster, a silent watch is cut early enough for a change to be seen within 60 s', () => {
    const longestWatch = Math.ceil(WATCH_LIMITS.requestSeconds * 1.3) + 5;
    const longestBackoff = 10;
    expect(longestWatch + longestBackoff).toBeLessThan(60);
  });
});

describe('FT3: faults of the network and of the API server: no hot loop', () => {
  it.each<[string, () => void]>([
    ['each watch ends at once', () => proxy.inject({ when: of('watch'), fault: { type: 'drop' } })],
    ['each watch is refused with 410', () => proxy.inject({ when: of('watch'), fault: { type: 'answer', code: 410 } })],
    ['each stream begins with 410', () => proxy.inject({ when: of('watch'), fault: { type: 'event', line: EXPIRED } })],
    ['each list fails', () => proxy.inject({ when: of('list'), fault: { type: 'answer', code: 500 } })],
  ])(
    '%s',
    async (_what, fault) => {
      fault();
      proxy.requests.length = 0;
      const began = performance.now();
      running().cut();
      await eventually(() => expect(logger.of('warn').length).toBeGreaterThanOrEqual(6));
      // Five waits: half of 0.05 + 0.1 + 0.2 + 0.4 + 0.8 s at the least.
      expect(performance.now() - began).toBeGreaterThanOrEqual(775);
      expect(proxy.requests.length).toBeLessThanOrEqual(14);
    },
    TEST_LIMIT_MS,
  );

  it(
    'watches that the server ends at once, without an error, are requested at the pace of the pause',
    async () => {
      const ends = setInterval(() => proxy.watches().forEach((watch) => watch.end()), 5);
      proxy.requests.length = 0;
      const began = performance.now();
      await eventually(() => expect(proxy.requests.length).toBeGreaterThanOrEqual(10));
      clearInterval(ends);
      expect(performance.now() - began).toBeGreaterThan(900);
      await seesChange();
    },
    TEST_LIMIT_MS,
  );

  it('a write whose answer is lost is reported as unavailable, though it was done', async () => {
    const store = new KubeStore({ client, namespace: writer.namespace, clock: systemClock, logger });
    proxy.failWrite(1, 'before');
    await expect(store.create(group('lost'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await writer.get('KeyGroup', 'lost')).toBeUndefined();
    proxy.failWrite(2, 'after');
    await store.create(group('first'));
    await expect(store.create(group('second'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await writer.get('KeyGroup', 'second')).toBeDefined();
  });
});

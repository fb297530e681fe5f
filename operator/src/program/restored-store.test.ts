import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { eventually } from '@wherry/testing/eventually.ts';
import type { KubeClient } from '@wherry/kube/client/kube-client.ts';
import { connectKube } from '@wherry/kube/client/kube-client.ts';
import { startApiServer, type ApiServer } from '@wherry/kube/testing/api-server.ts';
import { startFaultProxy, type FaultProxy } from '@wherry/kube/testing/fault-proxy.ts';
import { installCrds } from '@wherry/kube/testing/install-crds.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { ClusterWorld } from '../testing/cluster-world.ts';
import type { Program } from '../testing/program.ts';

const MINUTE = 60_000;
const KEYS = ['early', 'late', 'lost'] as const;
type Key = (typeof KEYS)[number];

let server: ApiServer;
let client: KubeClient;
let proxy: FaultProxy;
let world: ClusterWorld;
let feed: FeedSwitch;
let url: string;
let wasTaken = false;

beforeAll(async () => {
  server = await startApiServer();
  client = await connectKube({ kubeconfig: server.kubeconfig, clock: systemClock });
  await installCrds(client);
  proxy = await startFaultProxy(server);
  world = await ClusterWorld.create(client, 'functions');
  await create('/api/v1', 'secrets', 'v1', {
    kind: 'Secret',
    metadata: { name: 'values' },
    stringData: Object.fromEntries(KEYS.map((key) => [key, valueOf(key)])),
  });
  await world.apply('KeyGroup', 'team', {});
  await world.apply('Function', 'guarded', {
    handler: 'nowhere/main.ts',
    methods: ['GET'],
    route: '/guarded',
    keyGroups: ['team'],
  });
  feed = await FeedSwitch.start();
}, 3 * MINUTE);
afterAll(async () => {
  await world?.stop();
  await feed?.stop();
  await proxy?.stop();
  await client?.close();
  await server?.stop();
}, MINUTE);

/** Leads a router to one operator after another. */
class FeedSwitch {
  target = 0;
  /** Connections to the target. */
  connections = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));

  static async start(): Promise<FeedSwitch> {
    const feedSwitch = new FeedSwitch();
    feedSwitch.#server.listen(0, '127.0.0.1');
    await once(feedSwitch.#server, 'listening');
    return feedSwitch;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  leadTo(operator: Program): void {
    this.target = Number(operator.reported('feedPort'));
    this.connections = 0;
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.connections += 1;
    const inner = connect(this.target, '127.0.0.1');
    for (const [from, to] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      this.#sockets.add(from);
      from
        .on('error', () => undefined)
        .on('close', () => (this.#sockets.delete(from), to.destroy()))
        .pipe(to);
    }
  }
}

const valueOf = (key: Key): string => `wh_the-value-of-the-key-that-is-${key}`;

async function create(group: string, resource: string, apiVersion: string, body: object): Promise<void> {
  await client.request({
    method: 'POST',
    path: `${group}/namespaces/functions/${resource}`,
    body: { apiVersion, ...body },
  });
}

async function createKey(key: Key): Promise<void> {
  const spec = { keyGroup: 'team', enabled: true, value: { secretKeyRef: { name: 'values', key } } };
  await create('/apis/wherry.dev/v1alpha1', 'apikeys', 'wherry.dev/v1alpha1', {
    kind: 'ApiKey',
    metadata: { name: key },
    spec,
  });
}

const deleteKey = (key: Key): Promise<unknown> =>
  client.request({ method: 'DELETE', path: world.objects('apikeys', key) });

/** The keys that the router takes: the function has no code, which it says to whom it knows. */
async function taken(): Promise<Key[]> {
  const statuses = await Promise.all(
    KEYS.map(async (key) => (await fetch(`${url}/run/guarded`, { headers: { 'x-api-key': valueOf(key) } })).status),
  );
  // Many bad keys make it a 429, for bad ones alone.
  return KEYS.filter((_key, at) => statuses[at] !== 401 && statuses[at] !== 429);
}

const untilTaken = (...keys: Key[]): Promise<void> =>
  eventually(async () => {
    const now = await taken();
    // It was revoked before the backup: no state at all has it.
    if (now.includes('early')) wasTaken = true;
    expect(now).toEqual(keys);
  }, MINUTE);

it(
  'R8: routers take the state of a restored etcd, and none from before it, whichever operator they come to',
  async () => {
    let first = await world.startOperator(server.kubeconfig);
    const lagging = await world.startOperator(proxy.kubeconfig);
    feed.leadTo(lagging);
    ({ url } = await world.startRouter(feed.port));
    await createKey('early');
    await createKey('late');
    await untilTaken('early', 'late');
    await deleteKey('early');
    await untilTaken('late');
    wasTaken = false;
    await server.backUp();
    await eventually(() => createKey('lost'), MINUTE);
    await deleteKey('late');
    await untilTaken('lost');
    // One of the operators hears no more than that.
    const reconnect = proxy.sever();
    feed.leadTo(first);
    await untilTaken('lost');
    await server.restore();
    await untilTaken('late');
    feed.leadTo(lagging);
    // It is left after three heartbeats without a word, and tried again.
    await eventually(async () => {
      expect(await taken()).toEqual(['late']);
      expect(feed.connections).toBeGreaterThanOrEqual(2);
    }, MINUTE);
    reconnect();
    await deleteKey('late');
    await untilTaken();

    // Once more, and none of the operators lives through it: the router alone knows what was.
    for (const operator of [first, lagging]) {
      operator.kill('SIGKILL');
      await operator.ended;
    }
    await server.restore();
    first = await world.startOperator(server.kubeconfig);
    feed.leadTo(first);
    await untilTaken('late');
    expect(wasTaken).toBe(false);
  },
  8 * MINUTE,
);

import { createSecretKey } from 'node:crypto';
import { isIP } from 'node:net';
import { createCachedContentStore } from '@wherry/content/cached-content-store.ts';
import { createHttpContentStore } from '@wherry/content/http-content-store.ts';
import { createInternalClient } from '@wherry/content/internal-client.ts';
import { feedToken } from '@wherry/core/feed/feed-token.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { ClusterWorkloads } from '@wherry/core/ports/cluster-workloads.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { KeyLedger } from '@wherry/core/ports/key-ledger.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { RuntimeFeed, RuntimeIdentity } from '@wherry/core/ports/runtime-feed.ts';
import type { MetricsSink } from '@wherry/core/ports/telemetry.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { FollowedRing } from '@wherry/service/keys/followed-ring.ts';
import { keyRingOver } from '@wherry/service/keys/ring-storage.ts';
import { STOPPING } from '@wherry/service/ops/readiness.ts';
import { buildOperator, type Operator } from '../build-operator.ts';
import { createCaches, type Caches } from '../informers/caches.ts';
import { createInternalCertificates, type InternalCertificates } from '../certificates/internal-certificates.ts';
import type { OperatorConfig } from '../config.ts';
import { createFeedListener } from '../feed/feed-listener.ts';
import { createLogIntake, type LogIntake } from '../feed/log-intake.ts';
import { CachedRuntimeFeed } from '../feed/runtime-feed.ts';
import { createFeedKeys, type FeedKeys } from '../system-keys/feed-keys.ts';
import { ensureSystemKeys, type SystemKeys } from '../system-keys/system-keys.ts';
import type { ClusterPorts } from './cluster-ports.ts';
import { withConditionEvents } from './condition-events.ts';
import { RemoteKeyLedger } from './remote-key-ledger.ts';
import { postMetrics } from './post-metrics.ts';
import { TelemetryPoster } from './post-telemetry.ts';
import { countReplicas } from './replica-metrics.ts';
import { keepUp, untilDone } from './upkeep.ts';

interface RunOptions {
  config: OperatorConfig;
  ports: ClusterPorts;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** A router retries after 5 s at the most, and waits as long for an operator that does not answer. */
const ROUTERS_RETURN_MS = 10_000;

/** A replica that serves the feed, and leads whenever it holds the lease. */
export interface RunningOperator {
  /** Why the replica is not ready; undefined if it is. */
  readyz(): string | undefined;
  /** The port of the feed. */
  feedPort: number;
  /** Stops leading, gives the lease back, and ends the feed last: by then clients find another leader. */
  stop(): Promise<void>;
}

/**
 * Runs one replica: keys and certificates, caches, the feed, then the election.
 * @throws StartError for keys that are missing or invalid, or a port that cannot be opened
 */
export async function runOperator(options: RunOptions): Promise<RunningOperator> {
  const parts = new AsyncDisposableStack();
  try {
    return await run(options, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

async function run(options: RunOptions, parts: AsyncDisposableStack): Promise<RunningOperator> {
  const { config, ports, clock, logger, metrics } = options;
  const { election } = ports;
  parts.defer(() => ports.close());
  parts.defer(() => ports.events.stop());
  const keys = await readKeys(options, parts);
  const manager = await connectManager(options, keys.certificates, parts);
  const tokenOf = (uid: string): string => feedToken(keys.feedKeys.current(), uid);
  const workloads = ports.workloads({ leads: () => election.isLeader(), tokenOf });
  parts.defer(() => workloads.stop());
  parts.defer(() => ports.referencedSecrets.stop());
  await Promise.all([workloads.start(), ports.referencedSecrets.start()]);
  parts.defer(countReplicas({ workloads, clock, metrics }));
  const { operator, runtimeFeed } = compose(
    options,
    { ...keys, ...manager, workloads, builder: ports.builder(manager.content) },
    parts,
  );
  await operator.start();

  const listener = createFeedListener({
    tls: keys.certificates,
    attachRouter: (channel, hello) => void operator.attachRouter(channel, hello),
    identifyRuntime: (hello, peer) => workloads.identify(hello, peer),
    attachRuntime: (channel, identity) => attachRuntime({ workloads, runtimeFeed }, channel, identity),
    feedKeys: () => keys.feedKeys.accepted(),
    clock,
    logger,
    metrics,
  });
  parts.defer(() => listener.close());
  const feedPort = await listener.listen(config.feed.port, config.feed.host);
  followElection(options, { operator, workloads, feedKeys: keys.feedKeys });
  await election.start();
  let stopping = false;
  return {
    feedPort,
    readyz: () => (stopping ? STOPPING : undefined),
    async stop() {
      stopping = true;
      await operator.stopLeading();
      await election.stop();
      await parts.disposeAsync();
    },
  };
}

interface Keys {
  keyRing: KeyRing;
  systemKeys: SystemKeys;
  feedKeys: FeedKeys;
  certificates: InternalCertificates;
}

async function readKeys(
  { config, ports, clock, logger, metrics }: RunOptions,
  parts: AsyncDisposableStack,
): Promise<Keys> {
  const { name, systemNamespace } = config;
  const shared = { secrets: ports.systemSecrets, configMaps: ports.configMaps, name, systemNamespace, clock, logger };
  const hosts = { operator: [hostOf(`https://${config.feed.address}`)], manager: [hostOf(config.managerUrl)] };
  const feedKeys = createFeedKeys(shared);
  const certificates = createInternalCertificates({ ...shared, hosts });
  const work = async (): Promise<void> => {
    await feedKeys.upkeep();
    await certificates.upkeep();
  };
  const what = 'keys and certificates';
  const systemKeys = await untilDone(() => ensureSystemKeys({ ...shared, store: ports.store }), {
    what,
    clock,
    logger,
  });
  const ring = followRing({ ports, config, clock, logger });
  parts.defer(() => ring.stop());
  await untilDone(() => ring.start(), { what, clock, logger });
  await untilDone(work, { what, clock, logger });
  parts.defer(keepUp({ what, work, clock, logger }));
  metrics
    .gauge(METRICS.certificateExpiry)
    .observe(() => [...certificates.expiries()].map(([certificate, ms]) => [{ certificate }, ms / 1000] as const));
  return { systemKeys, keyRing: keyRingOver(ring), feedKeys, certificates };
}

function followRing({ ports, config, clock, logger }: Omit<RunOptions, 'metrics'>): FollowedRing {
  const name = `${config.name}-encryption-keys`;
  return new FollowedRing({
    secrets: ports.systemSecrets,
    store: ports.store,
    followed: ports.followSystemSecret(name),
    name,
    systemNamespace: config.systemNamespace,
    reader: config.instance,
    clock,
    logger,
  });
}

/** As a certificate names it. */
function hostOf(url: string): string {
  const { hostname } = new URL(url);
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? hostname : bare;
}

async function connectManager(
  { config, clock, logger, metrics }: RunOptions,
  tls: InternalCertificates,
  parts: AsyncDisposableStack,
): Promise<Pick<ComposeDependencies, 'content' | 'logs' | 'keyLedger' | 'executions'>> {
  const inner = createHttpContentStore({ url: config.managerUrl, tls, logger });
  parts.defer(() => inner.stop());
  const content = await createCachedContentStore({ inner, ...config.cache, clock, logger });
  const client = createInternalClient({ url: config.managerUrl, tls });
  parts.defer(() => client.stop());
  const poster = new TelemetryPoster({
    async send(body) {
      const answer = await client.send({
        method: 'POST',
        path: '/telemetry',
        headers: { 'content-type': 'application/json' },
        body,
      });
      return ((await answer.body.json()) as { refused: number }).refused;
    },
    onDropped: (count, reason) => logs.lost(count, reason),
    clock,
    logger,
  });
  const logs = createLogIntake({ telemetry: poster, metrics, clock });
  parts.defer(() => poster.stop());
  parts.defer(() => logs.stop());
  const keyLedger = new RemoteKeyLedger({ client, clock, logger });
  parts.defer(() => keyLedger.stop());
  return { content, logs, keyLedger, executions: postMetrics(client) };
}

type ComposeDependencies = Keys & {
  content: ContentStore;
  logs: LogIntake;
  keyLedger: KeyLedger;
  executions: MetricsSink;
  workloads: ClusterWorkloads;
  builder: ReturnType<ClusterPorts['builder']>;
};

function compose(
  options: RunOptions,
  dependencies: ComposeDependencies,
  parts: AsyncDisposableStack,
): { operator: Operator; runtimeFeed: RuntimeFeed } {
  const { config, ports, clock, logger, metrics } = options;
  const { systemKeys, keyRing, content, logs, keyLedger, executions, workloads, builder } = dependencies;
  parts.defer(() => builder.stop());
  const caches = createCaches({ store: ports.store, clock, logger });
  const shared = {
    caches,
    content,
    logs,
    keyRing,
    invocationKey: createSecretKey(systemKeys.invocationKey),
    referencedSecrets: ports.referencedSecrets,
    clock,
    logger,
  };
  const runtimeFeed = new CachedRuntimeFeed(shared);
  const store = withConditionEvents(ports.store, ports.events, (kind, name) => cached(caches, kind, name));
  const operator = buildOperator({
    ...shared,
    store,
    executions,
    builder,
    workloads,
    keyLedger,
    digestKey: systemKeys.digestKey,
    functionUrl: config.functionUrl,
    routersReturnMs: ROUTERS_RETURN_MS,
    restores: ports.election.restores,
    metrics,
  });
  parts.defer(() => operator.stop());
  return { operator, runtimeFeed };
}

function cached(caches: Caches, kind: Kind, name: string): Resource | undefined {
  switch (kind) {
    case 'Function':
      return caches.functions.get(name);
    case 'CodeSource':
      return caches.sources.get(name);
    case 'ApiKey':
      return caches.keys.get(name);
    case 'FunctionSecret':
      return caches.secrets.get(name);
    case 'KeyGroup':
      return caches.groups.get(name);
    case 'Settings':
      return caches.settings.get(name);
  }
}

async function attachRuntime(
  { workloads, runtimeFeed }: { workloads: ClusterWorkloads; runtimeFeed: RuntimeFeed },
  channel: FeedChannel,
  identity: RuntimeIdentity,
): Promise<void> {
  const outcome = await runtimeFeed.attach(channel, identity).outcome;
  if (outcome.type !== 'loaded') return;
  const unmark = workloads.markLoaded(identity.instanceId);
  await channel.closed;
  unmark();
}

function followElection(
  { ports, logger }: RunOptions,
  { operator, workloads, feedKeys }: { operator: Operator; workloads: ClusterWorkloads; feedKeys: FeedKeys },
): void {
  const { election } = ports;
  election.onChange((leads) => {
    logger.info({ leads }, leads ? 'this replica leads' : 'this replica does not lead');
    if (!leads) workloads.rest();
    void (leads ? operator.lead() : operator.stopLeading());
  });
  // The pods' tokens are written again, as everything is at the beginning of a term.
  feedKeys.onChange(() => {
    if (!election.isLeader()) return;
    void operator.stopLeading();
    void operator.lead();
  });
}

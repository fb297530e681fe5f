import { randomBytes, randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createFolderContentStore } from '@wherry/content/folder-content-store.ts';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import { keyValueSchema } from '@wherry/core/crypto/key-value.ts';
import { setupTokenSchema } from '@wherry/core/crypto/setup-token.ts';
import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { FollowedRing } from '@wherry/service/keys/followed-ring.ts';
import { keyRingOver } from '@wherry/service/keys/ring-storage.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { drainServer } from '@wherry/service/drain-server.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { STARTING, STOPPING } from '@wherry/service/ops/readiness.ts';
import { watchTlsFiles } from '@wherry/service/tls/tls-files.ts';
import { buildManager, type Manager, type ManagerOptions } from '../build-manager.ts';
import type { ManagerConfig } from '../config.ts';
import { createManagementServer } from '../http/management-server.ts';
import { sendError } from '../http/reply.ts';
import { buildInternalListener } from '../internal-api/internal-listener.ts';
import { listenInternal } from '../internal-api/listen-internal.ts';
import { openAuditStore } from '../audit/open-audit-store.ts';
import { openKeyLedger } from '../key-ledger/open-key-ledger.ts';
import { openMetricStore } from '../metric-store/open-metric-store.ts';
import { openTelemetryStore, type TelemetryOptions } from '../log-store/open-telemetry-store.ts';
import { beginWork } from './begin-work.ts';
import type { Cluster } from './cluster.ts';
import { exposeDisk } from './disk-metrics.ts';
import { takeDataDirectory } from './data-directory.ts';
import { startRecordsThread } from '../records/records-thread.ts';
import { openUserStore } from '../users/open-user-store.ts';
import { readMountedText } from './read-mounted-text.ts';

interface StartManagerOptions {
  config: ManagerConfig;
  /** It sends nothing yet. */
  connect: (metrics: Metrics) => Promise<Cluster>;
  clock: Clock;
  logger: Logger;
}

/** The running program. */
interface RunningManager {
  ports: { management: number; internal: number; ops: number };
  /** Not ready at once; takes requests for a moment more, lets running ones finish, and frees the volume. */
  stop(): Promise<void>;
}

/**
 * An answer waits this long for the operator, which needs a few milliseconds, so that whoever created a function can
 * call it at once.
 */
const OPERATOR_MS = 500;
/** A caller gets an answer within 5 s even when the API server is not available. */
const STORE_LIMIT_MS = 4000;
/** Running requests get this long to finish when the manager stops. */
const DRAIN_MS = 10_000;

/**
 * The manager in a cluster: management API, log database and content store. It serves content as soon as it listens,
 * whether or not the API server can be reached; it is ready once it knows keys and Secrets.
 * @throws StartError in one line.
 */
export async function startManager(options: StartManagerOptions): Promise<RunningManager> {
  const parts = new AsyncDisposableStack();
  try {
    return await compose(options, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

async function compose(
  { config, connect, clock, logger }: StartManagerOptions,
  parts: AsyncDisposableStack,
): Promise<RunningManager> {
  const { metrics, registry } = createProgramMetrics();
  const state: { problem: string | undefined } = { problem: STARTING };
  const ops = await startOpsListener({ port: config.opsPort, registry, readyz: () => state.problem, clock, logger });
  parts.defer(() => ops.close());
  const managementKey = await readMountedText('WHERRY_MANAGEMENT_KEY_FILE', config.managementKeyFile, keyValueSchema);
  const setupToken = await readMountedText('WHERRY_SETUP_TOKEN_FILE', config.setupTokenFile, setupTokenSchema);
  const tls = await watchTlsFiles({ directory: config.tlsDirectory, clock, logger });
  parts.defer(() => tls.stop());
  exposeDisk(metrics, config.dataDirectory);
  const stores = await openStores(
    { directory: config.dataDirectory, maxBytes: config.telemetryBytes, clock, logger, metrics },
    parts,
  );
  const cluster = await open(() => connect(metrics), parts);
  const ring = followRing(cluster, { config, clock, logger });
  parts.defer(() => ring.stop());
  parts.defer(() => cluster.election.stop());
  const internal = await listenInternal({
    listener: buildInternalListener({ ...stores, logger }),
    tls,
    port: config.internalPort,
    clock,
    logger,
  });
  parts.defer(() => internal.close());
  const manager = managerOf(
    { ...cluster, ...stores, setupToken, ring, leadership: cluster.election, clock, logger, metrics },
    config,
  );
  parts.defer(() => manager.stop());
  const management = await listenManagement(whenReady(state, manager.listener), config, clock);
  parts.defer(() => management.close());
  parts.defer(() => manager.endStreams());
  const stopping = new AbortController();
  const { signal } = stopping;
  beginWork({ cluster, manager, audit: stores.audit, ring, managementKey, clock, logger, signal }, state);
  logger.info({ management: management.port, internal: internal.port, ops: ops.port }, 'the manager is listening');
  return {
    ports: { management: management.port, internal: internal.port, ops: ops.port },
    async stop() {
      state.problem = STOPPING;
      stopping.abort();
      await clock.sleep(config.lameDuckMs);
      await parts.disposeAsync();
    },
  };
}

function managerOf(
  ports: Pick<
    ManagerOptions,
    | 'store'
    | 'objectWrites'
    | 'referencedSecrets'
    | 'ring'
    | 'leadership'
    | 'telemetry'
    | 'keyLedger'
    | 'executions'
    | 'audit'
    | 'users'
    | 'content'
    | 'setupToken'
    | 'clock'
    | 'logger'
    | 'metrics'
  >,
  { functionUrl, trustedProxies, accounts }: ManagerConfig,
): Manager {
  return buildManager({
    ...ports,
    keyRing: keyRingOver(ports.ring),
    // Nothing else computes these digests: they live as long as this process.
    digestKey: createDigestKey(randomBytes(32)),
    functionUrl,
    trustedProxies,
    ...accounts,
    awaitOperatorMs: OPERATOR_MS,
    storeLimitMs: STORE_LIMIT_MS,
  });
}

function followRing(
  { systemSecrets, store, encryptionKeys }: Cluster,
  { config, clock, logger }: Pick<StartManagerOptions, 'config' | 'clock' | 'logger'>,
): FollowedRing {
  const { name, systemNamespace, instance } = config;
  return new FollowedRing({
    secrets: systemSecrets,
    store,
    followed: encryptionKeys,
    name: `${name}-encryption-keys`,
    systemNamespace,
    reader: instance,
    clock,
    logger,
  });
}

async function open(connect: () => Promise<Cluster>, parts: AsyncDisposableStack): Promise<Cluster> {
  const cluster = await connect();
  parts.defer(() => cluster.close());
  parts.defer(() => cluster.referencedSecrets.stop());
  return cluster;
}

async function openStores(
  { directory, maxBytes, ...shared }: { directory: string } & Omit<TelemetryOptions, 'file'>,
  parts: AsyncDisposableStack,
) {
  const data = await takeDataDirectory({ directory, ...shared });
  parts.defer(() => data.release());
  const telemetry = await openTelemetryStore({ file: data.telemetry, maxBytes, ...shared });
  parts.defer(() => telemetry.close());
  const thread = startRecordsThread();
  const executions = await openMetricStore({ file: data.metrics, thread, ...shared });
  parts.defer(() => executions.close());
  const audit = await openAuditStore({ file: data.audit, thread, ...shared });
  parts.defer(() => audit.close());
  const users = await openUserStore({ file: data.users, thread, ...shared });
  parts.defer(() => users.close());
  const content = await createFolderContentStore({ directory: data.content, ...shared });
  const keyLedger = await openKeyLedger({ store: telemetry, ...shared });
  parts.defer(() => keyLedger.stop());
  return { telemetry, executions, audit, users, content, keyLedger };
}

/** Before keys are known, every key would be refused, which would be wrong. */
function whenReady(state: { problem: string | undefined }, listener: RequestListener): RequestListener {
  let wasReady = false;
  return (request, response) => {
    // A manager that has received SIGTERM still answers.
    wasReady ||= state.problem === undefined;
    if (wasReady) listener(request, response);
    else
      sendError(
        response,
        new DomainError('unavailable', 'The service is starting; try again in a moment.'),
        randomUUID(),
      );
  };
}

async function listenManagement(
  listener: RequestListener,
  { managementHost, managementPort, trustedProxies }: ManagerConfig,
  clock: Clock,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createManagementServer(listener, { trustedProxies });
  const port = await listenOrFail(
    server,
    { host: managementHost, port: managementPort },
    'MANAGEMENT_PORT',
    'MANAGEMENT_HOST',
  );
  return { port, close: () => drainServer(server, { clock, boundMs: DRAIN_MS }) };
}

import type { Logger } from '@wherry/core/ports/logger.ts';
import { createFolderContentStore } from '@wherry/content/folder-content-store.ts';
import { buildManager } from '@wherry/manager/build-manager.ts';
import { ensureFirstStart } from '@wherry/manager/first-start/ensure-first-start.ts';
import { openTelemetryStore } from '@wherry/manager/telemetry/open-telemetry-store.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createMetrics } from '@wherry/service/metrics.ts';
import type { EmbeddedConfig } from './config.ts';
import { loadKeyFile } from './data-directory/key-file.ts';
import { openDataDirectory } from './data-directory/open-data-directory.ts';
import { listenManager } from './listen-manager.ts';
import type { RouterProcess } from './router-process.ts';
import { startOperator } from './start-operator.ts';
import { startRouter } from './start-router.ts';
import { openSqliteStore } from './store/open-sqlite-store.ts';
import { urlOf, welcome } from './welcome.ts';

/** Embedded objects lie in one namespace, as those of a cluster do in the functions' namespace. */
const NAMESPACE = 'default';

export interface EmbeddedOptions {
  config: EmbeddedConfig;
  logger: Logger;
  /** For the person who started the service. */
  print: (text: string) => void;
}

/** The running service. */
export interface EmbeddedService {
  /** Lets running calls finish, ends every child, and leaves the data directory free. */
  stop(): Promise<void>;
}

/**
 * Composes all parts into one service on this machine and says where it is.
 * @throws StartError with one line for a person (a taken port, an unusable folder, a second service on the same data).
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedService> {
  const parts = new AsyncDisposableStack();
  const running: { router?: RouterProcess } = {};
  // Callers first: nothing that serves them goes before they are served.
  const stop = async (): Promise<void> => {
    await running.router?.stop();
    await parts.disposeAsync();
  };
  try {
    await compose(options, parts, running);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

async function compose(
  { config, logger, print }: EmbeddedOptions,
  parts: AsyncDisposableStack,
  running: { router?: RouterProcess },
): Promise<void> {
  const { metrics } = createMetrics();
  const directory = await openDataDirectory({ path: config.dataDirectory });
  parts.defer(() => directory.release());
  const { paths } = directory;
  const keys = loadKeyFile(paths.keys, { create: directory.isNew, clock, logger });
  const onePort = config.functionPort === config.managementPort && config.functionPort !== 0;
  const managerSocket = onePort ? `${paths.run}/manager.sock` : undefined;
  // The router starts while everything else is opened; its feed is served when the operator is there.
  const router = startRouter({ config, managerSocket, clock, logger });
  running.router = router;
  const store = await openSqliteStore({ file: paths.database, namespace: NAMESPACE, clock });
  parts.defer(() => store.close());
  const first = await ensureFirstStart({ store, keyRing: keys.keyRing, clock, managementKey: config.managementKey });
  const content = await createFolderContentStore({ directory: paths.content, clock, logger });
  const telemetry = await openTelemetryStore({ file: paths.telemetry, clock, logger });
  parts.defer(() => telemetry.close());
  const functionUrl = config.publicUrl ?? urlOf(config.functionHost, await router.port);
  const shared = { ...keys, store, content, telemetry, functionUrl, clock, logger, metrics };
  const operator = await startOperator({ ...shared, run: paths.run, cache: `${paths.root}/cache` }, parts);
  router.serve((channel) => operator.attachRouter(channel));
  const manager = buildManager({ ...shared, trustedProxies: config.trustedProxies });
  parts.defer(() => manager.stop());
  await manager.start();
  const listening = await listenManager(manager.listener, managerSocket ?? { host: config.managementHost, port: config.managementPort });
  parts.defer(() => listening.close());
  const managementUrl = listening.port === undefined ? functionUrl : urlOf(config.managementHost, listening.port);
  print(welcome({ functionUrl, managementUrl, dataDirectory: paths.root, managementKey: first.managementKey }));
}

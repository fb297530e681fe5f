import type { Logger } from '@wherry/core/ports/logger.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { STARTING } from '@wherry/service/ops/readiness.ts';
import type { EmbeddedConfig } from './config.ts';
import { openDataDirectory } from './data-directory/open-data-directory.ts';
import type { RouterProcess } from './router-process.ts';
import { startRouter } from './start-router.ts';
import { urlOf, welcome } from './welcome.ts';
import { findUidRange } from './workloads/uid-pool.ts';

interface EmbeddedOptions {
  config: EmbeddedConfig;
  logger: Logger;
  /** For the person who started the service. */
  print: (text: string) => void;
}

/** The running service. */
interface EmbeddedService {
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

/** In the order in which a first call needs the parts; each is loaded when the one before it is on its way. */
async function compose(
  { config, logger, print }: EmbeddedOptions,
  parts: AsyncDisposableStack,
  running: { router?: RouterProcess },
): Promise<void> {
  const directory = await openDataDirectory({ path: config.dataDirectory });
  parts.defer(() => directory.release());
  const { paths } = directory;
  const onePort = config.functionPort === config.managementPort && config.functionPort !== 0;
  const managerSocket = onePort ? `${paths.run}/manager.sock` : undefined;
  const opsSocket = `${paths.run}/router-ops.sock`;
  const router = startRouter({ config, managerSocket, opsSocket, clock, logger });
  running.router = router;
  const { openStores } = await import('./open-stores.ts');
  const measuring = import('@wherry/service/metrics.ts').then(({ createProgramMetrics }) => createProgramMetrics());
  const [stores, { metrics, registry }, { startOperator }] = await Promise.all([
    openStores(
      {
        ...directory,
        telemetryBytes: config.telemetryBytes,
        clock,
        logger,
        metrics: measuring.then(({ metrics: made }) => made),
      },
      parts,
    ),
    measuring,
    import('./start-operator.ts'),
  ]);
  const port = config.functionPort === 0 ? await router.port : config.functionPort;
  const functionUrl = config.publicUrl ?? urlOf(config.functionHost, port);
  const shared = { ...stores, functionUrl, clock, logger, metrics };
  const operator = await startOperator(
    { ...shared, npm: config.npm, run: paths.run, cache: `${paths.root}/cache` },
    parts,
  );
  router.serve((channel) => operator.attachRouter(channel));
  let ready = false;
  const readyz = (): string | undefined => (ready ? undefined : STARTING);
  const { startOps } = await import('./start-ops.ts');
  const opsPort = startOps({ port: config.opsPort, registry, routerSocket: opsSocket, readyz, clock, logger }, parts);
  const { startEmbeddedManager: startManager } = await import('./start-embedded-manager.ts');
  const management = await startManager({ ...shared, config, managerSocket, routerListens: router.port }, parts);
  ready = true;
  print(
    welcome({
      functionUrl,
      dataDirectory: paths.root,
      opsPort: await opsPort,
      sharedUser: findUidRange() === undefined,
      ...management,
    }),
  );
}

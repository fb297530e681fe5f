import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { holdPort, type HeldPort } from '@wherry/service/hold-port.ts';
import { STARTING } from '@wherry/service/ops/readiness.ts';
import type { EmbeddedConfig } from './config.ts';
import { openDataDirectory } from './data-directory/open-data-directory.ts';
import { refuseCalls } from './refuse-while-stopping.ts';
import type { RouterProcess } from './router-process.ts';
import { startRouter } from './start-router.ts';
import { urlOf, welcome } from './welcome.ts';
import type { Spares } from './workloads/spares.ts';
import { findUidRange } from './workloads/uid-pool.ts';

interface EmbeddedOptions {
  config: EmbeddedConfig;
  logger: Logger;
  /** For the person who started the service. */
  print: (text: string) => void;
}

/** The running service. */
interface EmbeddedService {
  /** Lets running calls finish, ends every child, and releases the data directory. */
  stop(): Promise<void>;
}

interface Running {
  functions?: HeldPort;
  router?: RouterProcess;
}

/**
 * Composes all parts into one service on this machine and says where it is.
 * @throws StartError with one line for a person (a port in use, an unusable folder, a second service on the same data).
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedService> {
  const parts = new AsyncDisposableStack();
  const running: Running = {};
  // Callers first: nothing that serves them stops before they are served.
  const stop = async (): Promise<void> => {
    const { router, functions } = running;
    // After a start that failed, the port may be another program's.
    void (functions && refuseCalls(functions).catch(() => undefined));
    await router?.stop();
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

/** In the order in which a first call needs the parts; each is loaded while the one before it starts. */
async function compose(
  { config, logger, print }: EmbeddedOptions,
  parts: AsyncDisposableStack,
  running: Running,
): Promise<void> {
  const directory = await openDataDirectory({ path: config.dataDirectory, logger });
  parts.defer(() => directory.release());
  const { paths } = directory;
  const onePort = config.functionPort === config.managementPort && config.functionPort !== 0;
  const managerSocket = onePort ? `${paths.run}/manager.sock` : undefined;
  const opsSocket = `${paths.run}/router-ops.sock`;
  // Both ports are the service's before the first instance starts, and until the last one is gone.
  const functions = await holdFunctionPort(config, parts);
  const router = startRouter({ config, functions, managerSocket, opsSocket, clock, logger });
  Object.assign(running, { functions, router } satisfies Running);
  const { listenManager } = await import('./listen-manager.ts');
  const address = managerSocket ?? { host: config.managementHost, port: config.managementPort };
  const listener = await listenManager(address, { ...config, clock });
  parts.defer(() => listener.close());
  const cache = `${paths.root}/cache`;
  const spares = startSpares({ run: paths.run, cache, clock, logger }, parts);
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
  const functionUrl = config.publicUrl ?? urlOf(config.functionHost, functions.port);
  const shared = { ...stores, functionUrl, clock, logger, metrics };
  const operator = await startOperator({ ...shared, npm: config.npm, spares, cache }, parts);
  await router.listening;
  router.serve((channel) => operator.attachRouter(channel));
  let ready = false;
  const readyz = (): string | undefined => (ready ? undefined : STARTING);
  const { startOps } = await import('./start-ops.ts');
  const opsUrl = startOps({ port: config.opsPort, registry, routerSocket: opsSocket, readyz, clock, logger }, parts);
  // While the manager's code is loaded nothing else runs in this process, and functions are called before they are
  // managed.
  await operator.firstInstance();
  const { startEmbeddedManager: startManager } = await import('./start-embedded-manager.ts');
  const management = await startManager({ ...shared, config, listener }, parts);
  ready = true;
  print(
    welcome({
      functionUrl,
      dataDirectory: paths.root,
      opsUrl: await opsUrl,
      sharedUser: findUidRange() === undefined,
      ...management,
    }),
  );
}

interface SparesOptions {
  run: string;
  /** Folder for what can be created again: the runtime's bundle. */
  cache: string;
  clock: Clock;
  logger: Logger;
}

/** A runtime takes as long to start as all that comes before its function is assigned: so both begin at once. */
function startSpares({ run, cache, clock, logger }: SparesOptions, parts: AsyncDisposableStack): Promise<Spares> {
  const opening = (async () => {
    const [{ bundleRuntime }, { openSpares }] = await Promise.all([
      import('./workloads/bundle-runtime.ts'),
      import('./workloads/open-spares.ts'),
    ]);
    const runtimeBundle = await bundleRuntime({ outputDirectory: cache });
    return openSpares({ runtimeBundle, directory: run, clock, logger });
  })();
  // It may fail before the operator waits for it.
  opening.catch(() => undefined);
  parts.defer(() =>
    opening.then(
      (spares) => spares.stop(),
      () => undefined,
    ),
  );
  return opening;
}

async function holdFunctionPort(config: EmbeddedConfig, parts: AsyncDisposableStack): Promise<HeldPort> {
  const address = { port: config.functionPort, host: config.functionHost };
  const functions = await holdPort(address, 'FUNCTION_PORT', 'FUNCTION_HOST');
  parts.defer(() => functions.close());
  return functions;
}

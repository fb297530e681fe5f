import type { Logger } from '@wherry/core/ports/logger.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { STARTING, STOPPING } from '@wherry/service/ops/readiness.ts';
import type { BuilderConfig } from './config.ts';
import { createProcessBuilder } from './build-process/create-process-builder.ts';
import { createPackageRegistry } from './packages/create-package-registry.ts';
import { startBuilderServer } from './socket/builder-server.ts';

interface RunningBuilder {
  /** Of the ops listener. */
  opsPort: number;
  /** Lets running builds end for a while, then ends every process and closes. */
  stop(): Promise<void>;
}

/**
 * The builder beside the operator: builds over a Unix socket, without a token or key of a cluster or a registry.
 * @throws StartError in one line.
 */
export async function startBuilder({
  config,
  logger,
}: {
  config: BuilderConfig;
  logger: Logger;
}): Promise<RunningBuilder> {
  const parts = new AsyncDisposableStack();
  try {
    const { metrics, registry } = createProgramMetrics();
    let problem: string | undefined = STARTING;
    const ops = await startOpsListener({ port: config.opsPort, registry, readyz: () => problem, clock, logger });
    parts.defer(() => ops.close());
    const packages = createPackageRegistry({
      cacheDirectory: `${config.cacheDirectory}/packages`,
      registry: { socket: config.installerSocket },
      clock,
      logger,
      metrics,
    });
    parts.defer(() => packages.stop());
    const server = await startBuilderServer({
      path: config.socket,
      makeBuilder: (content) =>
        createProcessBuilder({ content, packages: async () => packages, clock, logger, metrics }),
      clock,
      logger,
    });
    parts.defer(() => server.stop());
    problem = undefined;
    logger.info({ socket: config.socket }, 'the builder is listening');
    parts.defer(() => {
      problem = STOPPING;
    });
    return { opsPort: ops.port, stop: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

import type { Logger } from '@wherry/core/ports/logger.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { STARTING } from '@wherry/service/ops/readiness.ts';
import type { InstallerConfig } from './config.ts';
import { createRegistryInstaller } from './packages/create-package-registry.ts';
import { readRegistryOptions } from './packages/registry-config.ts';
import { startInstallerServer } from './packages/npm/installer-server.ts';

/**
 * The installer beside the builder, in a container and under a user of its own: it has the registry's token, and gives
 * packages over a Unix socket (B1).
 * @throws StartError in one line.
 */
export async function startInstaller({
  config,
  logger,
}: {
  config: InstallerConfig;
  logger: Logger;
}): Promise<{ stop(): Promise<void> }> {
  const parts = new AsyncDisposableStack();
  try {
    const { registry } = createProgramMetrics();
    const npmRegistry = await readRegistryOptions(config.npm);
    let problem: string | undefined = STARTING;
    const ops = await startOpsListener({ port: config.opsPort, registry, readyz: () => problem, clock, logger });
    parts.defer(() => ops.close());
    const server = await startInstallerServer({
      path: config.socket,
      installer: createRegistryInstaller({ registry: npmRegistry, clock, logger }),
      logger,
    });
    parts.defer(() => server.stop());
    problem = undefined;
    logger.info({ socket: config.socket }, 'the installer is listening');
    return { stop: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

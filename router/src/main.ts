import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { runProgram, type RunningProgram } from '@wherry/service/run-program.ts';
import { buildRouter } from './build-router.ts';
import { routerConfig } from './config.ts';
import { runBesideService } from './program/run-beside-service.ts';
import type { RouterProgram } from './program/router-program.ts';

async function start(): Promise<RunningProgram> {
  const config = routerConfig();
  const logger = createLogger({ name: 'router', level: config.WHERRY_LOG_LEVEL });
  const { metrics, registry } = createProgramMetrics();
  const router = buildRouter({
    clock,
    logger,
    metrics,
    trustedProxies: config.TRUSTED_PROXIES,
    ...(config.WHERRY_MANAGER_SOCKET === undefined ? {} : { managerAddress: { path: config.WHERRY_MANAGER_SOCKET } }),
  });
  const program: RouterProgram = { router, config, registry, clock, logger };
  if (config.WHERRY_FEED_ADDRESS === undefined) return runBesideService(program);
  // Modules that are not needed on one machine are not loaded there.
  const { runInCluster } = await import('./program/run-in-cluster.ts');
  return runInCluster(program, config.WHERRY_FEED_ADDRESS);
}

runProgram({ name: 'wherry router', start, clock });

import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { createProgramMetrics } from '@wherry/service/metrics.ts';
import { requireNode24 } from '@wherry/service/require-node.ts';
import { lastWords } from '@wherry/service/start-error.ts';
import { buildRouter } from './build-router.ts';
import { routerConfig } from './config.ts';
import { runBesideService } from './program/run-beside-service.ts';
import type { RouterProgram } from './program/router-program.ts';

requireNode24('wherry router');

async function main(): Promise<void> {
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
  // What one machine does not need is not loaded there.
  const { runInCluster } = await import('./program/run-in-cluster.ts');
  await runInCluster(program, config.WHERRY_FEED_ADDRESS);
}

main().catch((error: unknown) => {
  process.stderr.write(`${lastWords(error)}\n`);
  setImmediate(() => process.exit(1));
});

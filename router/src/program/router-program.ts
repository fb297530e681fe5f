import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import type { MetricsText } from '@wherry/service/ops/ops-listener.ts';
import type { Router } from '../build-router.ts';
import type { RouterConfig } from '../config.ts';

/** What the two ways to run a router have in common. */
export interface RouterProgram {
  router: Router;
  config: RouterConfig;
  registry: MetricsText;
  clock: Clock;
  logger: Logger;
}

/** Opens the function port. @returns the port. @throws StartError where it cannot be opened. */
export function listenForCalls({ router, config }: RouterProgram): Promise<number> {
  const { FUNCTION_PORT: port, FUNCTION_HOST: host, WHERRY_REUSE_PORT: reusePort } = config;
  return listenOrFail(router.server, { port, host, reusePort }, 'FUNCTION_PORT', 'FUNCTION_HOST');
}

/** What keeps it from being ready: it serves by what its feed has sent it. */
export function feedProblem(router: Router): string | undefined {
  return router.isReady() ? undefined : 'It has no state from the feed yet.';
}

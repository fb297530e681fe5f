import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { listenOnSockets, type Listening } from '@wherry/service/listen-on-sockets.ts';
import { listenOrFail, type PortAddress } from '@wherry/service/listen-or-fail.ts';
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
  return listenOrFail(router.server, functionAddress(config), 'FUNCTION_PORT', 'FUNCTION_HOST');
}

/** Listens on sockets of the function port that this process has inherited. */
export function listenOnInherited({ router, config }: RouterProgram, fds: readonly number[]): Promise<Listening> {
  return listenOnSockets(
    router.server,
    fds.map((fd) => ({ fd })),
    { address: functionAddress(config), setting: 'FUNCTION_PORT', hostSetting: 'FUNCTION_HOST' },
  );
}

function functionAddress({ FUNCTION_PORT, FUNCTION_HOST, WHERRY_REUSE_PORT }: RouterConfig): PortAddress {
  return { port: FUNCTION_PORT, host: FUNCTION_HOST, reusePort: WHERRY_REUSE_PORT };
}

/** Why it is not ready, if so: it serves from the state that its feed has sent. */
export function feedProblem(router: Router): string | undefined {
  return router.isReady() ? undefined : 'The router has not received its state from the feed yet.';
}

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { MetricsText } from '@wherry/service/ops/ops-listener.ts';
import { StartError } from '@wherry/service/start-error.ts';
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
export async function listenForCalls({ router, config }: RouterProgram): Promise<number> {
  const { server } = router;
  try {
    server.listen({
      port: config.FUNCTION_PORT,
      reusePort: config.WHERRY_REUSE_PORT,
      ...(config.FUNCTION_HOST === undefined ? {} : { host: config.FUNCTION_HOST }),
    });
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(listenError(error as NodeJS.ErrnoException, config.FUNCTION_PORT), error);
  }
  return (server.address() as AddressInfo).port;
}

function listenError(error: NodeJS.ErrnoException, port: number): string {
  if (error.code === 'EADDRINUSE') return `Port ${port} is taken: stop what listens there, or set FUNCTION_PORT.`;
  if (error.code === 'EACCES')
    return `Port ${port} may not be opened by this user: set FUNCTION_PORT to one over 1023.`;
  return `The function port ${port} cannot be opened (${error.code ?? error.message}).`;
}

import { once } from 'node:events';
import { Socket, type AddressInfo } from 'node:net';
import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { createMetrics } from '@wherry/service/metrics.ts';
import { isStartError, StartError } from '@wherry/service/start-error.ts';
import { buildRouter, type Router } from './build-router.ts';
import { routerConfig, type RouterConfig } from './config.ts';

/** The feed is a socket that the service hands down. Its end means that the service is dead. */
const FEED_FD = 3;

async function main(): Promise<void> {
  const config = routerConfig();
  const logger = createLogger({ name: 'router', level: config.WHERRY_LOG_LEVEL });
  const channel = openFeed();
  const router = buildRouter({
    clock: systemClock,
    logger,
    metrics: createMetrics().metrics,
    trustedProxies: config.TRUSTED_PROXIES,
    ...(config.WHERRY_MANAGER_SOCKET === undefined ? {} : { managerAddress: { path: config.WHERRY_MANAGER_SOCKET } }),
  });
  if (!(await listen(router, config, channel))) return endWithError();
  let isStopping = false;
  const stop = (reason: string): void => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ reason }, 'The router stops');
    void router.drain({ lameDuckMs: 0, boundMs: config.WHERRY_DRAIN_SECONDS * 1000 }).then(() => process.exit(0));
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  await router.follow(channel);
  stop('the feed has ended');
}

function openFeed(): FeedChannel {
  try {
    return jsonLines(new Socket({ fd: FEED_FD, readable: true, writable: true }));
  } catch {
    throw new StartError('The router is started by the service, which hands it its feed as file descriptor 3.');
  }
}

/** Listens, and tells the service how it went: false where it could not, and the service tells a person why. */
async function listen(router: Router, config: RouterConfig, channel: FeedChannel): Promise<boolean> {
  const { server } = router;
  try {
    server.listen({
      port: config.FUNCTION_PORT,
      reusePort: config.WHERRY_REUSE_PORT,
      ...(config.FUNCTION_HOST === undefined ? {} : { host: config.FUNCTION_HOST }),
    });
    await once(server, 'listening');
  } catch (error) {
    const message = listenError(error as NodeJS.ErrnoException, config.FUNCTION_PORT);
    channel.send({ type: 'failed', message } satisfies RouterUp);
    return false;
  }
  channel.send({ type: 'listening', port: (server.address() as AddressInfo).port } satisfies RouterUp);
  return true;
}

/** Through the event loop once, so that the feed gets its last message. */
function endWithError(): void {
  setImmediate(() => process.exit(1));
}

function listenError(error: NodeJS.ErrnoException, port: number): string {
  if (error.code === 'EADDRINUSE') return `Port ${port} is taken: stop what listens there, or set FUNCTION_PORT.`;
  if (error.code === 'EACCES') return `Port ${port} may not be opened by this user: set FUNCTION_PORT to one over 1023.`;
  return `The function port ${port} cannot be opened (${error.code ?? error.message}).`;
}

main().catch((error: unknown) => {
  const text = isStartError(error) ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${text}\n`);
  endWithError();
});

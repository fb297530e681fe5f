import { hostname } from 'node:os';
import { connectFeed, type FeedConnection } from '@wherry/service/feed/feed-connection.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { STOPPING } from '@wherry/service/ops/readiness.ts';
import type { RunningProgram } from '@wherry/service/run-program.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { watchTlsFiles } from '@wherry/service/tls/tls-files.ts';
import { feedProblem, listenForCalls, type RouterProgram } from './router-program.ts';

/** Endpoints and load balancers need seconds to learn that a pod goes. */
const LAME_DUCK_SECONDS = 5;

/**
 * In a cluster: the router lives on the operators' feed over the network. It is ready once it has a state, serves on by
 * it when all operators are away, and after SIGTERM still takes calls until nobody sends it any.
 */
export async function runInCluster(program: RouterProgram, feedAddress: string): Promise<RunningProgram> {
  const { router, config, registry, clock, logger } = program;
  const directory = config.WHERRY_TLS_DIRECTORY;
  if (directory === undefined)
    throw new StartError(
      'WHERRY_TLS_DIRECTORY must be set beside WHERRY_FEED_ADDRESS: the router shows the operators its certificate.',
    );
  const tls = await watchTlsFiles({ directory, clock, logger });
  let isStopping = false;
  const readyz = (): string | undefined => {
    if (isStopping) return STOPPING;
    return feedProblem(router);
  };
  const ops = await startOpsListener({ port: config.OPS_PORT, registry, readyz, clock, logger });
  const port = await listenForCalls(program);
  logger.info({ port, opsPort: ops.port, feed: feedAddress }, 'The router listens');
  const instance = config.WHERRY_INSTANCE ?? hostname();
  const feed = connectFeed({
    address: feedAddress,
    credentials: () => tls.current(),
    hello: () => ({ type: 'hello', role: 'router', instance, ...router.known() }),
    serve: (channel) => router.follow(channel),
    clock,
    logger,
  });

  return {
    async stop(reason) {
      isStopping = true;
      logger.info({ reason }, 'The router stops');
      await endProgram(program, feed);
    },
  };
}

/** The feed goes last: instances come and go while the last calls run, and the log entries of those go up it. */
async function endProgram({ router, config }: RouterProgram, feed: FeedConnection): Promise<void> {
  const lameDuckMs = (config.WHERRY_LAME_DUCK_SECONDS ?? LAME_DUCK_SECONDS) * 1000;
  await router.drain({ lameDuckMs, boundMs: config.WHERRY_DRAIN_SECONDS * 1000 });
  await feed.stop();
}

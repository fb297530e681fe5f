import { hostname } from 'node:os';
import { connectFeed, type FeedConnection } from '@wherry/service/feed/feed-connection.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import { STOPPING } from '@wherry/service/ops/readiness.ts';
import type { RunningProgram } from '@wherry/service/run-program.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { watchTlsFiles } from '@wherry/service/tls/tls-files.ts';
import { feedProblem, listenForCalls, type RouterProgram } from './router-program.ts';

/** Endpoints and load balancers need seconds to notice that a pod is going away. */
const LAME_DUCK_SECONDS = 5;

/**
 * In a cluster: the router gets its state from the operators' feed over the network. It is ready once it has a state,
 * keeps serving from it when no operator is available, and after SIGTERM still takes calls until load balancers have
 * noticed.
 */
export async function runInCluster(program: RouterProgram, feedAddress: string): Promise<RunningProgram> {
  const { router, config, registry, clock, logger } = program;
  const directory = config.WHERRY_TLS_DIRECTORY;
  if (directory === undefined)
    throw new StartError(
      'WHERRY_TLS_DIRECTORY must be set together with WHERRY_FEED_ADDRESS: the router presents its certificate to the operators.',
    );
  const tls = await watchTlsFiles({ directory, clock, logger });
  let isStopping = false;
  const readyz = (): string | undefined => {
    if (isStopping) return STOPPING;
    return feedProblem(router);
  };
  const ops = await startOpsListener({ port: config.OPS_PORT, registry, readyz, clock, logger });
  const port = await listenForCalls(program);
  logger.info({ port, opsPort: ops.port, feed: feedAddress }, 'the router is listening');
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
      logger.info({ reason }, 'the router is stopping');
      await endProgram(program, feed);
    },
  };
}

/** The feed is closed last: instances come and go while the last calls run, and their log entries are sent over it. */
async function endProgram({ router, config }: RouterProgram, feed: FeedConnection): Promise<void> {
  const lameDuckMs = (config.WHERRY_LAME_DUCK_SECONDS ?? LAME_DUCK_SECONDS) * 1000;
  await router.drain({ lameDuckMs, boundMs: config.WHERRY_DRAIN_SECONDS * 1000 });
  await feed.stop();
}

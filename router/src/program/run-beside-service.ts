import { Socket } from 'node:net';
import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import type { RunningProgram } from '@wherry/service/run-program.ts';
import { isStartError, StartError } from '@wherry/service/start-error.ts';
import { feedProblem, listenForCalls, type RouterProgram } from './router-program.ts';

/** The feed is a socket that the service hands down. Its end means that the service is dead. */
const FEED_FD = 3;

/** On one machine: the service starts the router, sends it all on an inherited feed, and gets a report of its start. */
export async function runBesideService(program: RouterProgram): Promise<RunningProgram> {
  const { router, config, logger } = program;
  const channel = openFeed();
  if (!(await listen(program, channel))) return endWithError();
  if (config.WHERRY_OPS_SOCKET !== undefined) void serveOps(program, config.WHERRY_OPS_SOCKET);
  return {
    ended: router.follow(channel).then(() => 'the feed has ended'),
    async stop(reason) {
      logger.info({ reason }, 'The router stops');
      const lameDuckMs = (config.WHERRY_LAME_DUCK_SECONDS ?? 0) * 1000;
      await router.drain({ lameDuckMs, boundMs: config.WHERRY_DRAIN_SECONDS * 1000 });
    },
  };
}

function openFeed(): FeedChannel {
  try {
    return jsonLines(new Socket({ fd: FEED_FD, readable: true, writable: true }));
  } catch {
    throw new StartError(
      'The router is started by the service, which hands it its feed as file descriptor 3; in a cluster set WHERRY_FEED_ADDRESS.',
    );
  }
}

/** Listens, and reports to the service how it went: false where it could not, and the service logs why. */
async function listen(program: RouterProgram, channel: FeedChannel): Promise<boolean> {
  try {
    const port = await listenForCalls(program);
    channel.send({ type: 'listening', port } satisfies RouterUp);
    return true;
  } catch (error) {
    if (!isStartError(error)) throw error;
    channel.send({ type: 'failed', message: error.message } satisfies RouterUp);
    return false;
  }
}

/** The service serves the router's metrics beside its own. Without them calls are served as well. */
async function serveOps({ router, registry, clock, logger }: RouterProgram, socketPath: string): Promise<void> {
  const readyz = (): string | undefined => feedProblem(router);
  try {
    await startOpsListener({ port: 0, socketPath, registry, readyz, clock, logger });
  } catch (error) {
    logger.warn({ problem: (error as Error).message }, "the router's metrics cannot be read");
  }
}

/** Through the event loop once, so that the feed gets its last message. */
function endWithError(): Promise<never> {
  return new Promise(() => setImmediate(() => process.exit(1)));
}

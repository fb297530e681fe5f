import { Socket } from 'node:net';
import type { RouterUp } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { startOpsListener } from '@wherry/service/ops/ops-listener.ts';
import type { RunningProgram } from '@wherry/service/run-program.ts';
import { isStartError, StartError } from '@wherry/service/start-error.ts';
import type { Listening } from '@wherry/service/listen-on-sockets.ts';
import { feedProblem, listenForCalls, listenOnInherited, type RouterProgram } from './router-program.ts';

/** The feed is a socket that is inherited from the service. Its end means that the service is dead. */
const FEED_FD = 3;
/** So are the sockets of the function port, which outlive this process: the next router listens on them too. */
const FIRST_SOCKET_FD = 4;

/**
 * On one machine: the service starts the router, sends it everything on an inherited feed, and gets a report of its
 * start.
 */
export async function runBesideService(program: RouterProgram): Promise<RunningProgram> {
  const { router, config, logger } = program;
  const channel = openFeed();
  const listening = await listen(program, channel);
  if (listening === undefined) return endWithError();
  if (config.WHERRY_OPS_SOCKET !== undefined) void serveOps(program, config.WHERRY_OPS_SOCKET);
  return {
    ended: router.follow(channel).then(() => 'the feed has ended'),
    async stop(reason) {
      logger.info({ reason }, 'the router is stopping');
      const lameDuckMs = (config.WHERRY_LAME_DUCK_SECONDS ?? 0) * 1000;
      const { acceptors } = listening;
      await router.drain({ acceptors, lameDuckMs, boundMs: config.WHERRY_DRAIN_SECONDS * 1000 });
    },
  };
}

function openFeed(): FeedChannel {
  try {
    return jsonLines(new Socket({ fd: FEED_FD, readable: true, writable: true }));
  } catch {
    throw new StartError(
      'The router must be started by the service, which passes it the feed as file descriptor 3. In a cluster, set WHERRY_FEED_ADDRESS.',
    );
  }
}

/** Listens, and reports to the service how it went: undefined where it could not, and the service logs why. */
async function listen(program: RouterProgram, channel: FeedChannel): Promise<Listening | undefined> {
  const count = program.config.WHERRY_FUNCTION_SOCKETS;
  const fds = Array.from({ length: count }, (_, index) => FIRST_SOCKET_FD + index);
  try {
    const listening =
      count === 0 ? { port: await listenForCalls(program), acceptors: [] } : await listenOnInherited(program, fds);
    channel.send({ type: 'listening', port: listening.port } satisfies RouterUp);
    return listening;
  } catch (error) {
    if (!isStartError(error)) throw error;
    channel.send({ type: 'failed', message: error.message } satisfies RouterUp);
    return undefined;
  }
}

/** The service serves the router's metrics beside its own. Calls are served even without them. */
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

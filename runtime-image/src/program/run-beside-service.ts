import process from 'node:process';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { buildRuntime } from '../build-runtime.ts';
import type { RuntimeConfig } from '../config.ts';
import { DescriptorSocket } from './descriptor-socket.ts';
import { endOnSignals } from './end-on-signals.ts';

/** The feed, inherited from the parent process: one end of a socket pair. */
const FEED_DESCRIPTOR = 3;
/** How long the final messages may take. */
const CLOSE_MS = 1000;

/** On one machine: the feed is inherited, and its end ends the process. */
export async function runBesideService(config: RuntimeConfig, clock: Clock): Promise<void> {
  const socket = new DescriptorSocket(FEED_DESCRIPTOR, { clock });
  const runtime = buildRuntime({ config, clock, drainFeedSync: () => socket.drainSync(CLOSE_MS) });
  const closeFeed = (): Promise<void> =>
    new Promise((resolve) => {
      clock.after(CLOSE_MS, resolve);
      socket.end(() => resolve());
    });
  endOnSignals(() => runtime.drain(), closeFeed);
  const failure = await Promise.race([runtime.follow(jsonLines(socket)), runtime.failed]);
  // Without the service there is nothing to serve, and nothing else would end this process.
  if (failure === undefined) process.exit(0);
  await closeFeed();
  process.exit(1);
}

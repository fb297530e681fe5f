import { writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { Hello } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { connectFeed } from '@wherry/service/feed/feed-connection.ts';
import { buildRuntime, type LoadFailure } from '../build-runtime.ts';
import type { PodConfig, RuntimeConfig } from '../config.ts';
import { createStderrLogger } from '../logs/stderr-logger.ts';
import { endOnSignals } from './end-on-signals.ts';
import { startProbeListener } from './probe-listener.ts';

/** The kubelet takes 2,048 bytes of the end of a container's log into the pod's status: this, and a line break. */
const MAX_FAILURE_BYTES = 2047;

interface PodParts {
  config: RuntimeConfig;
  pod: PodConfig;
  clock: Clock;
}

/**
 * In a pod: the feed comes over the network. Its loss ends nothing; the last state stays active until it is back. Calls
 * come once the kubelet watches the event loop: one that never ends is killed from the first call on.
 */
export async function runInPod({ config, pod, clock }: PodParts): Promise<void> {
  const logger = createStderrLogger('runtime', clock);
  const watched = Promise.withResolvers<void>();
  const closeFeed = (): Promise<void> => feed.stop();
  const runtime = buildRuntime({ config, clock, watched: watched.promise, closeFeed });
  await startProbeListener({ port: pod.probePort, loaded: runtime.loaded, onStarted: watched.resolve, clock });
  // Read for each connection: the kubelet renews them.
  const read = async (name: string): Promise<string> =>
    (await readFile(path.join(pod.feedDirectory, name), 'utf8')).trim();
  const { instance, workload, functionUid } = pod;
  const feed = connectFeed({
    address: pod.feedAddress,
    credentials: async () => ({ ca: await read('ca.crt') }),
    hello: async (): Promise<Hello> => ({
      type: 'hello',
      role: 'runtime',
      instance,
      workload,
      functionUid,
      token: await read('token'),
    }),
    serve: (channel) => runtime.follow(channel),
    clock,
    logger,
  });
  endOnSignals(() => runtime.drain(), closeFeed);
  const failure = await runtime.failed;
  await feed.stop();
  writeFailure(failure);
  process.exit(1);
}

/**
 * The last line of the log, which the kubelet takes into the pod's status: so everyone who reads the pod, above all
 * every operator, sees why; the feed reaches only one of them. There is a file for that too, but whoever can write it
 * can fill the node's disk with it.
 */
function writeFailure({ reason, message }: LoadFailure): void {
  let shown = message;
  const text = (): string => JSON.stringify({ reason, message: shown });
  while (Buffer.byteLength(text()) > MAX_FAILURE_BYTES) shown = shown.slice(0, Math.floor(shown.length * 0.9));
  try {
    writeSync(2, `${text()}\n`);
  } catch {
    // Even without it the pod ends, and the report was sent over the feed.
  }
}

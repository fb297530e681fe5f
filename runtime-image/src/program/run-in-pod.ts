import { writeFileSync } from 'node:fs';
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

/** What the kubelet keeps of a termination log. */
const MAX_TERMINATION_BYTES = 4096;

interface PodParts {
  config: RuntimeConfig;
  pod: PodConfig;
  clock: Clock;
}

/**
 * In a pod: the feed comes over the network. Its loss ends nothing; what was learned stays active until it is back.
 * Calls come once the kubelet watches the event loop: one that never ends is killed from the first call on.
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
  writeTerminationLog(pod.terminationLog, failure);
  await feed.stop();
  process.exit(1);
}

/** So that whoever looks at the pod, every operator above all, sees why; the feed alone reaches one of them. */
function writeTerminationLog(file: string, { reason, message }: LoadFailure): void {
  let shown = message;
  const text = (): string => JSON.stringify({ reason, message: shown });
  while (Buffer.byteLength(text()) > MAX_TERMINATION_BYTES) shown = shown.slice(0, Math.floor(shown.length * 0.9));
  try {
    writeFileSync(file, text());
  } catch {
    // Without it the pod still ends, and the feed has the report.
  }
}

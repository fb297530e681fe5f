import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import { systemClock } from '@wherry/service/clock.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { isStartError } from '@wherry/service/start-error.ts';
import { buildRuntime } from './build-runtime.ts';
import { loadRuntimeConfig } from './config.ts';

/** The feed, inherited from who started this process: one end of a socket pair. */
const FEED_DESCRIPTOR = 3;
/** Bytes that wait for a feed that does not read; then log entries wait, and are dropped, before it. */
const CONGESTED_BYTES = 1024 * 1024;
/** How long the last words may take. */
const FAREWELL_MS = 1000;

async function main(): Promise<void> {
  const config = loadRuntimeConfig();
  const socket = new Socket({ fd: FEED_DESCRIPTOR, readable: true, writable: true });
  const runtime = buildRuntime({
    channel: jsonLines(socket),
    clock: systemClock,
    config,
    congested: () => socket.writableLength > CONGESTED_BYTES,
  });
  endOnSignals(() => runtime.drain(), socket);
  // Without the service there is nobody to serve, and nobody who would end this process.
  if ((await runtime.run()) === 'feed-ended') process.exit(0);
  await farewell(socket);
  process.exit(1);
}

/** The first signal drains; the second ends at once. */
function endOnSignals(drain: () => Promise<void>, socket: Socket): void {
  let told = false;
  const end = (): void => {
    if (told) process.exit(1);
    told = true;
    drain()
      .then(() => farewell(socket))
      .then(() => process.exit(0), () => process.exit(1));
  };
  process.on('SIGTERM', end);
  // Ctrl-C reaches the whole group: the service, which gets it too, decides when its instances go.
  process.on('SIGINT', () => undefined);
}

/** Waits until what was sent is with the other side. */
function farewell(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(FAREWELL_MS, resolve);
    socket.end(() => resolve());
  });
}

main().catch((error: unknown) => {
  writeSync(2, `${isStartError(error) ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});

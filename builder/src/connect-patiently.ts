import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';

/** A program that restarts is back within a few seconds; this long it is waited for. */
const CONNECT_MS = 15_000;
const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1000;

export interface PatientConnection {
  /** Of a Unix socket. */
  path: string;
  clock: Clock;
  logger: Logger;
}

/**
 * Tries again for a while: a program that restarts has no socket, or one that nobody listens on.
 * @throws the signal's reason, or the last refusal (ECONNREFUSED, ENOENT).
 */
export async function connectPatiently(
  { path, clock, logger }: PatientConnection,
  signal: AbortSignal,
): Promise<Socket> {
  const giveUpAt = clock.monotonic() + CONNECT_MS;
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(MAX_DELAY_MS, delay * 2)) {
    signal.throwIfAborted();
    const socket = connect(path);
    try {
      await once(socket, 'connect', { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      signal.throwIfAborted();
      if (clock.monotonic() + delay > giveUpAt) throw error;
      logger.debug({ err: error, path }, 'nobody listens on the socket yet; trying again');
      await clock.sleep(delay * (0.5 + Math.random() / 2), signal);
    }
  }
}

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '@wherry/service/backoff.ts';

/** How long to wait for a program that restarts: it is back within a few seconds. */
const CONNECT_MS = 15_000;
const RETRY = { firstMs: 50, lastMs: 1000 };

export interface RetriedConnection {
  /** Of a Unix socket. */
  path: string;
  clock: Clock;
  logger: Logger;
}

/**
 * Retries for a while: a program that restarts has no socket, or one that nothing listens on.
 * @throws the signal's reason, or the last refusal (ECONNREFUSED, ENOENT).
 */
export async function connectWithRetry(
  { path, clock, logger }: RetriedConnection,
  signal: AbortSignal,
): Promise<Socket> {
  const giveUpAt = clock.monotonic() + CONNECT_MS;
  const backoff = new Backoff(RETRY);
  for (;;) {
    signal.throwIfAborted();
    const socket = connect(path);
    try {
      await once(socket, 'connect', { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      signal.throwIfAborted();
      const retryInMs = backoff.failed();
      if (clock.monotonic() + retryInMs > giveUpAt) throw error;
      logger.debug({ err: error, path }, 'nothing is listening on the socket yet; trying again');
      await clock.sleep(retryInMs, signal);
    }
  }
}

import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '@wherry/service/backoff.ts';

/**
 * How often upkeep runs: what others change or delete is back within 10 s (K2), since no pod can start without it. It
 * reads a handful of objects.
 */
const EVERY_MS = 8000;
const RETRY = { firstMs: 500, lastMs: 30_000 };

interface UpkeepOptions {
  what: string;
  /** The upkeep; it writes nothing when nothing is due. */
  work: () => Promise<void>;
  clock: Clock;
  logger: Logger;
}

/**
 * Retries until it succeeds, for work that the start waits for.
 * @throws errors that are not the API server's: a StartError, which no retry fixes
 */
export async function untilDone<T>(
  work: () => Promise<T>,
  { what, clock, logger }: Omit<UpkeepOptions, 'work'>,
): Promise<T> {
  const backoff = new Backoff(RETRY);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDomainError(error)) throw error;
      const retryInMs = backoff.failed();
      logger.warn({ err: error, what, retryInMs }, 'waiting for the API server to start');
      await clock.sleep(retryInMs);
    }
  }
}

/** Repeats the work, whether it succeeds or fails. Returns a function that stops it and waits for what is running. */
export function keepUp({ what, work, clock, logger }: UpkeepOptions): () => Promise<void> {
  let stopped = false;
  let cancel = (): void => undefined;
  let running = Promise.resolve();

  function later(ms: number): void {
    if (stopped) return;
    cancel = clock.after(ms, () => {
      running = run();
    });
  }

  async function run(): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.warn({ err: error, what }, 'upkeep failed; trying again');
    }
    later(EVERY_MS * (0.9 + Math.random() / 10));
  }

  later(EVERY_MS);
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}

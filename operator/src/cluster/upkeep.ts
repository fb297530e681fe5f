import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '@wherry/service/backoff.ts';

/**
 * How often what is kept is looked at; well within the time that a new authority or key waits to be known everywhere.
 */
const EVERY_MS = 300_000;
const RETRY = { firstMs: 500, lastMs: 30_000 };

interface UpkeepOptions {
  what: string;
  /** Looks after something; writes nothing when nothing is due. */
  work: () => Promise<void>;
  clock: Clock;
  logger: Logger;
}

/**
 * Tries until it works, for work that a start waits for.
 * @throws what is no trouble of the API server: a StartError, which no retry fixes
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
      logger.warn({ err: error, what, retryInMs }, 'the start waits for the API server');
      await clock.sleep(retryInMs);
    }
  }
}

/** Does the work again and again; what fails is tried again sooner. Returns how to stop, which waits for what runs. */
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
      later(EVERY_MS * (0.9 + Math.random() / 10));
    } catch (error) {
      logger.warn({ err: error, what }, 'upkeep failed; trying again');
      later(RETRY.lastMs);
    }
  }

  later(EVERY_MS);
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}

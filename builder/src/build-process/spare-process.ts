import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { BuildChild } from './build-child.ts';

/** After an edit the machine first starts the function; the next edit is unlikely to come that soon. */
const DELAY_MS = 150;
/** An author who edits comes back within this time; else the spare's memory is freed. */
const IDLE_MS = 10 * 60_000;

/** At most one spare process, ready for the next build. */
export interface SpareProcess {
  /** The spare process, if there is one; from now on it belongs to the caller. */
  take(): BuildChild | undefined;
  /** Starts one soon, and keeps it for a while. */
  prepare(): void;
  stop(): Promise<void>;
}

export function createSpareProcess(options: {
  start: () => Promise<BuildChild>;
  clock: Clock;
  logger: Logger;
}): SpareProcess {
  const { start, clock, logger } = options;
  let child: BuildChild | undefined;
  let starting: Promise<void> | undefined;
  let cancelStart = (): void => undefined;
  let cancelEnd = (): void => undefined;
  let stopped = false;

  async function startOne(): Promise<void> {
    try {
      const made = await start();
      if (stopped) made.kill();
      else child = made;
    } catch (err) {
      logger.warn({ err }, 'no spare build process could be started; builds start their own');
    } finally {
      starting = undefined;
    }
  }

  function end(): void {
    child?.kill();
    child = undefined;
  }

  return {
    take() {
      const taken = child;
      child = undefined;
      return taken?.alive === true ? taken : undefined;
    },
    prepare() {
      cancelEnd();
      cancelEnd = clock.after(IDLE_MS, end);
      cancelStart();
      if (child?.alive === true || starting !== undefined) return;
      cancelStart = clock.after(DELAY_MS, () => {
        starting ??= startOne();
      });
    },
    async stop() {
      stopped = true;
      cancelStart();
      cancelEnd();
      await starting;
      const last = child;
      end();
      await last?.exited;
    },
  };
}

import process from 'node:process';
import type { CallLog } from '../logs/call-log.ts';

export interface CrashHandling {
  log: CallLog;
  /** Hands the log entries that still wait to the feed. */
  flush: () => void;
  /** Blocks until the feed has sent what it was handed, in bounded time; where the feed can do that. */
  drainFeedSync?: (() => void) | undefined;
  /** Ends running calls, and accepts no more. */
  cutCalls: () => void;
  /** Resolves, in bounded time, when the feed has sent what it was handed: for a feed that needs the event loop. */
  closeFeed?: (() => Promise<void>) | undefined;
}

/**
 * An error outside of a call's chain of promises ends the instance at once (S3): its state is unknown, and another one
 * takes its place. The log entries and the error itself are sent first; the feed's reader counts what does not arrive
 * in time as lost, because `flush` announces how much there is.
 */
export function endOnCrash({ log, flush, cutCalls, drainFeedSync, closeFeed }: CrashHandling): void {
  let isEnding = false;
  const crash = (error: unknown): void => {
    log.write('error', [error]);
    if (isEnding) return;
    isEnding = true;
    if (closeFeed === undefined) return process.exit(1);
    cutCalls();
    flush();
    closeFeed()
      .finally(() => process.exit(1))
      .catch(() => undefined);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  // A handler's own process.exit() as well.
  process.on('exit', () => {
    flush();
    drainFeedSync?.();
  });
}

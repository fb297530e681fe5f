import process from 'node:process';
import type { CallLog } from '../logs/call-log.ts';

/**
 * An error outside of a call's chain of promises ends the instance at once (S3): its state is unknown, and another one
 * takes its place. What was logged, and the error itself, gets out first.
 * @param flush sends the log entries that still wait; synchronous as far as the feed's buffer goes.
 */
export function endOnCrash(log: CallLog, flush: () => void): void {
  const crash = (error: unknown): void => {
    log.write('error', [error]);
    // Flushes, by the listener below: so does a handler's own process.exit().
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  process.on('exit', flush);
}

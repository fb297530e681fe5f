import { writeSync } from 'node:fs';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';

/**
 * The platform's own warnings of a pod, as JSON on standard error. Not pino: the runtime carries no package that it can
 * do without. It writes to the descriptor, because `process.stderr` belongs to the handler. It writes only warnings:
 * the last lines of a dead pod are taken for Node's own output.
 */
export function createStderrLogger(name: string, clock: Pick<Clock, 'now'>, bound: object = {}): Logger {
  const line =
    (level: string) =>
    (fields: object, msg: string): void => {
      const time = new Date(clock.now()).toISOString();
      try {
        writeSync(2, `${JSON.stringify({ level, time, name, ...bound, ...fields, msg })}\n`);
      } catch {
        // Nobody reads it.
      }
    };
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: line('warn'),
    error: line('error'),
    child: (fields) => createStderrLogger(name, clock, { ...bound, ...fields }),
  };
}

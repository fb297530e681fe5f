import type { Logger } from '@wherry/core/ports/logger.ts';
import { pino, type DestinationStream } from 'pino';
import type { LogLevel } from './config-variables.ts';

interface LoggerOptions {
  /** The program's name, in each line. */
  name: string;
  level?: LogLevel;
  /** Where the lines go; standard error by default, so that standard output stays free for people. */
  destination?: DestinationStream;
}

/** JSON lines by pino. Errors among the fields (`err`) are written with type, message and stack. */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? pino.destination({ dest: 2, sync: true });
  return pino(
    {
      name: options.name,
      level: options.level ?? 'info',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

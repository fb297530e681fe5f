import type { Logger } from '@wherry/core/ports/logger.ts';
import { pino, type DestinationStream } from 'pino';

interface LoggerOptions {
  /** The program's name, in each line. */
  name: string;
  level?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where the lines go; standard error by default, so that standard output stays a person's. */
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

/** Levels of log entries: those of a handler's writes, then those of the platform's own records of a call. */
export const LOG_LEVELS = [
  'log',
  'debug',
  'info',
  'warn',
  'error',
  'trace',
  'stdout',
  'stderr',
  'exec_start',
  'exec_end',
  'exec_reject',
] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One log line of a call. */
export interface LogEntry {
  functionName: string;
  requestId: string;
  level: LogLevel;
  message: string;
  /** JSON: an object for `exec_*`, else an array of the arguments after the first. Null when there are none. */
  args: string | null;
  /** Order within a call where timestamps are equal. */
  sequence: number;
  /** Milliseconds since 1970 UTC, with a fraction. */
  timestamp: number;
}

/** Where log entries go. It never blocks and never throws; what it must drop, it counts. */
export interface TelemetrySink {
  write(entries: LogEntry[]): void;
}

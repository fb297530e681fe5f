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

/** Executions of one function that ended within one minute. Times are whole microseconds, so that sums are exact. */
export interface ExecutionMetrics {
  functionName: string;
  /** Its begin: milliseconds since 1970 UTC. */
  minute: number;
  count: number;
  /** Of those, the ones that threw, crashed or timed out. */
  errors: number;
  sumUs: number;
  maxUs: number;
  /** Of a sketch of the durations (`service/src/duration-sketch.ts`): in turn the key of a bin and its count. */
  bins: number[];
}

/** What a sender has counted since its last batch. */
export interface MetricsBatch {
  /** A UUID of one run of a program. */
  sender: string;
  /** Grows from batch to batch of a sender, who sends the next one once this one is stored. */
  sequence: number;
  metrics: ExecutionMetrics[];
}

/** Where metrics of executions go. */
export interface MetricsSink {
  /**
   * Resolves once the batch is stored. A batch that is stored already adds nothing, so that it may be sent again.
   * @throws DomainError `unavailable` when a later attempt may succeed.
   */
  record(batch: MetricsBatch): Promise<void>;
}

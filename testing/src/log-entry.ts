import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

/** A log entry as a handler's `console.log('m')` makes it, but for the fields that a test is about. */
export function logEntry(fields: Partial<LogEntry> = {}): LogEntry {
  return {
    functionName: 'hello',
    requestId: 'r',
    level: 'log',
    message: 'm',
    args: null,
    sequence: 0,
    timestamp: 1,
    ...fields,
  };
}

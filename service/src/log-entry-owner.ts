import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

/**
 * The owner of a log entry in a queue that functions share: its function. Refused calls cost their callers nothing and
 * count as an owner of their own, so that many of them displace no entries of the function's own calls (S8).
 */
export function logEntryOwner({ functionName, level }: Pick<LogEntry, 'functionName' | 'level'>): string {
  return level === 'exec_reject' ? `${functionName}/refused` : functionName;
}

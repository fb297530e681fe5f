import type { LogEntry } from '@wherry/core/ports/telemetry.ts';

/**
 * Whose room a log entry takes in a queue that functions share: its function's. Refused calls cost their callers
 * nothing and have room of their own, so that many of them push out nothing that the function's own calls left (S8).
 */
export function logEntryOwner({ functionName, level }: Pick<LogEntry, 'functionName' | 'level'>): string {
  return level === 'exec_reject' ? `${functionName}/refused` : functionName;
}

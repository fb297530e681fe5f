import type { LogEntry, LogLevel, TelemetrySink } from '@wherry/core/ports/telemetry.ts';

/** Keeps what is written to it. */
export class FakeTelemetry implements TelemetrySink {
  readonly entries: LogEntry[] = [];

  write(entries: LogEntry[]): void {
    this.entries.push(...structuredClone(entries));
  }

  /** The entries of one level. */
  of(level: LogLevel): LogEntry[] {
    return this.entries.filter((entry) => entry.level === level);
  }
}

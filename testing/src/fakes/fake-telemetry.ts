import type { LogEntry, LogLevel, MetricsBatch, MetricsSink, TelemetrySink } from '@wherry/core/ports/telemetry.ts';

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

/** Keeps the batches that are recorded, and refuses them while `problem` is set. */
export class FakeMetricsSink implements MetricsSink {
  readonly batches: MetricsBatch[] = [];
  problem: Error | undefined;

  async record(batch: MetricsBatch): Promise<void> {
    await Promise.resolve();
    if (this.problem !== undefined) throw this.problem;
    this.batches.push(structuredClone(batch));
  }
}

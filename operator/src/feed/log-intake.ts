import type { RouterUp } from '@wherry/core/feed/messages.ts';
import { LOG_LEVELS, type LogEntry, type LogLevel, type TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';

type LogsMessage = Extract<RouterUp, { type: 'logs' }>;
const LEVELS = new Set<string>(LOG_LEVELS);

/** Hands log entries on to the telemetry sink, and counts what was lost on the way. */
export interface LogIntake {
  /** Routers name the functions that their entries are of. */
  fromRouter(message: LogsMessage): void;
  /** Whatever a runtime's entries say: they are that function's, and none is a record of the platform (S6). */
  fromRuntime(message: LogsMessage, functionName: string): void;
}

export function createLogIntake(telemetry: TelemetrySink, metrics: Metrics): LogIntake {
  const dropped: Counter = metrics.counter('telemetry_dropped_total', 'Log entries that were dropped, by who sent them.', ['component']);

  function take(message: LogsMessage, component: string, keep: (entry: LogsMessage['entries'][number]) => LogEntry | undefined): void {
    const entries = message.entries.flatMap((entry) => keep(entry) ?? []);
    const lost = Math.max(0, message.dropped) + message.entries.length - entries.length;
    if (lost > 0) dropped.inc({ component }, lost);
    if (entries.length > 0) telemetry.write(entries);
  }

  return {
    fromRouter: (message) => take(message, 'router', (entry) => (isLevel(entry.level) ? { ...entry, level: entry.level } : undefined)),
    fromRuntime: (message, functionName) =>
      take(message, 'runtime', (entry) =>
        isLevel(entry.level) && !entry.level.startsWith('exec_') ? { ...entry, level: entry.level, functionName } : undefined,
      ),
  };
}

function isLevel(level: string): level is LogLevel {
  return LEVELS.has(level);
}

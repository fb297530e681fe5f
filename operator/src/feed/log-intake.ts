import type { RouterUp } from '@wherry/core/feed/messages.ts';
import { LOG_LEVELS, type LogEntry, type LogLevel, type TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';

type LogsMessage = Extract<RouterUp, { type: 'logs' }>;
const LEVELS = new Set<string>(LOG_LEVELS);
/** Two processes' clocks differ by no more; what comes from further ahead was made up. */
const MAX_AHEAD_MS = 60_000;
/** Characters of a UUID. */
const REQUEST_ID_LENGTH = 36;

/** Hands log entries on to the telemetry sink, and counts what was lost on the way. */
export interface LogIntake {
  /** Routers name the functions that their entries are of. */
  fromRouter(message: LogsMessage): void;
  /**
   * Whatever a runtime's entries say: they are that function's, none is a record of the platform, and none is of a time
   * to come, where it would stand before all that follows and never grow old (S6).
   */
  fromRuntime(message: LogsMessage, functionName: string): void;
  /** So many were lost on the way to the sink. */
  lost(count: number): void;
}

export function createLogIntake(telemetry: TelemetrySink, metrics: Metrics, clock: Pick<Clock, 'now'>): LogIntake {
  const dropped: Counter = metrics.counter('telemetry_dropped_total', 'Log entries that were dropped, by who sent them.', ['component']);

  function take(message: LogsMessage, component: string, keep: (entry: LogsMessage['entries'][number]) => LogEntry | undefined): void {
    const entries = message.entries.flatMap((entry) => keep(entry) ?? []);
    const lost = Math.max(0, message.dropped) + message.entries.length - entries.length;
    if (lost > 0) dropped.inc({ component }, lost);
    if (entries.length > 0) telemetry.write(entries);
  }

  return {
    lost: (count) => dropped.inc({ component: 'operator' }, count),
    fromRouter: (message) => take(message, 'router', (entry) => (isLevel(entry.level) ? { ...entry, level: entry.level } : undefined)),
    fromRuntime(message, functionName) {
      const now = clock.now();
      take(message, 'runtime', (entry) => {
        const { level, timestamp } = entry;
        if (!isLevel(level) || level.startsWith('exec_')) return undefined;
        const isPossible = timestamp >= 0 && timestamp <= now + MAX_AHEAD_MS;
        const requestId = entry.requestId.slice(0, REQUEST_ID_LENGTH);
        return { ...entry, requestId, level, functionName, timestamp: isPossible ? timestamp : now };
      });
    },
  };
}

function isLevel(level: string): level is LogLevel {
  return LEVELS.has(level);
}

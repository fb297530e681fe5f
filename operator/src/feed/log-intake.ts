import type { RouterUp } from '@wherry/core/feed/messages.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import { LOG_LEVELS, type LogEntry, type LogLevel, type TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';
import { LOG_RATE, LogRate, type LogRateLimits } from './log-rate.ts';

type LogsMessage = Extract<RouterUp, { type: 'logs' }>;
const LEVELS = new Set<string>(LOG_LEVELS);
/** Two processes' clocks differ by no more; a time further ahead is invented. */
const MAX_AHEAD_MS = 60_000;
/** Characters of a UUID. */
const REQUEST_ID_LENGTH = 36;

/** Passes log entries on to the telemetry sink, and counts what was lost on the way. */
export interface LogIntake {
  /** Routers name the functions that their entries are of. */
  fromRouter(message: LogsMessage): void;
  /**
   * Whatever a runtime's entries claim: they belong to that function, none is a record of the platform, and none has a
   * time in the future, where it would sort before all later entries and never expire (S6).
   */
  fromRuntime(message: LogsMessage, functionName: string): void;
  /** Counts entries that were lost on the way to the sink: it accepted no more, or refused them. */
  lost(count: number, reason: 'congested' | 'refused'): void;
  /** Reports what was dropped, and ends. */
  stop(): void;
}

interface LogIntakeOptions {
  telemetry: TelemetrySink;
  metrics: Metrics;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  /** Of each function; a bucket for its own output, one for its calls, one for its refused calls. */
  limits?: LogRateLimits;
}

export function createLogIntake({ telemetry, metrics, clock, limits = LOG_RATE }: LogIntakeOptions): LogIntake {
  const dropped: Counter = metrics.counter(METRICS.telemetryDropped);
  const rate = new LogRate({ limits, clock, report: (entries) => telemetry.write(entries) });
  const count = (component: string, reason: string, by: number): void => {
    if (by > 0) dropped.inc({ component, reason }, by);
  };

  function take(
    message: Pick<LogsMessage, 'entries'>,
    component: string,
    read: (entry: LogsMessage['entries'][number]) => LogEntry | undefined,
  ): void {
    const valid = message.entries.flatMap((entry) => read(entry) ?? []);
    const entries = rate.within(valid, ({ level }) => (level === 'exec_reject' ? 'refused' : component));
    count(component, 'invalid', message.entries.length - valid.length);
    count(component, 'rate', valid.length - entries.length);
    if (entries.length > 0) telemetry.write(entries);
  }

  return {
    lost: (by, reason) => count('operator', reason, by),
    stop: () => rate.stop(),
    fromRouter(message) {
      count('router', 'congested', message.dropped);
      take(message, 'router', (entry) => (isLevel(entry.level) ? { ...entry, level: entry.level } : undefined));
    },
    fromRuntime(message, functionName) {
      const now = clock.now();
      count('runtime', 'congested', rate.missed(functionName, 'runtime', message.dropped));
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

import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Histogram, Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { hasKey } from '../auth/held-keys.ts';
import type { KeyIndex } from '../auth/key-index.ts';
import { holdsOneOf } from '../auth/query-key.ts';
import type { AdmittedCall, RoutedCall } from '../call.ts';
import { headerValue } from '../headers/raw-headers.ts';
import type { Refusal } from '../refusal.ts';
import { CODE_CLOSED } from '../state/function-series.ts';
import type { Execution } from './execution-counter.ts';
import { RejectionLog } from './rejection-log.ts';
import { FIRST, LAST } from './sequence.ts';

/**
 * How a call ended: `ok` (whatever its status), `error` (it threw or crashed), `timeout`, `aborted` (the caller left,
 * or sent an unacceptable body), `rejected` (no instance took it).
 */
export type CallOutcome = 'ok' | 'error' | 'timeout' | 'aborted' | 'rejected';

const SUFFIX: Record<CallOutcome, string> = {
  ok: '',
  aborted: '',
  error: ' (error)',
  rejected: ' (error)',
  timeout: ' (timeout)',
};
/** Replaces, in a log entry, a key that the caller put there. */
const MASK = '***';
/** A call, with its carriers searched if it came that far. */
type Examined = RoutedCall & Partial<Pick<AdmittedCall, 'keys'>>;

/** Writes the platform's own records of calls: log entries and metrics. */
export class CallRecorder {
  readonly #clock: Clock;
  readonly #log: (entry: LogEntry) => void;
  readonly #execution: (execution: Execution) => void;
  readonly #rejections: RejectionLog;
  readonly #keys: () => KeyIndex | undefined;
  readonly #overhead: Histogram;
  readonly #authRejections: Counter;
  readonly #failures: Counter;

  /** @param options.keys the keys that are known now: none of them is written anywhere. */
  constructor(
    clock: Clock,
    metrics: Metrics,
    options: {
      log: (entry: LogEntry) => void;
      execution: (execution: Execution) => void;
      keys: () => KeyIndex | undefined;
    },
  ) {
    this.#clock = clock;
    this.#log = options.log;
    this.#execution = options.execution;
    this.#keys = options.keys;
    this.#rejections = new RejectionLog(clock, options.log);
    this.#overhead = metrics.histogram(METRICS.routerOverhead);
    this.#authRejections = metrics.counter(METRICS.authRejections);
    this.#failures = metrics.counter(METRICS.invocationFailures);
  }

  /** The call is handed to an instance. @returns when, on the monotonic clock. */
  started(call: AdmittedCall): number {
    const now = this.#clock.monotonic();
    this.#overhead.observe((now - call.arrivedAt) / 1000);
    call.fn.series.started();
    const { rawHeaders } = call.req;
    const origin = headerValue(rawHeaders, 'origin') ?? null;
    const args = {
      origin: origin !== null && holdsOne(call, origin) ? MASK : origin,
      keyGroup: call.auth?.key.groupName ?? null,
      contentLength: call.body.length,
    };
    const message = summary(call, (text) => holdsOne(call, text));
    this.#log(entryOf(call, now, { level: 'exec_start', message, sequence: FIRST, args: JSON.stringify(args) }));
    return now;
  }

  /** The call is over. @param startedAt what `started` returned; undefined: it was not handed over. */
  finished(call: AdmittedCall, startedAt: number | undefined, outcome: CallOutcome, refusal?: Refusal): void {
    if (startedAt === undefined) {
      if (refusal !== undefined) this.rejected(call, refusal, refusal.code);
      return;
    }
    const now = this.#clock.monotonic();
    const ms = now - startedAt;
    call.fn.series.ended();
    // The instance had no slot for it and did not run it.
    if (refusal?.code === 'over_capacity') return this.rejected(call, refusal, refusal.code);
    count(call, refusal === undefined ? answeredCode(call) : refusal.status, ms / 1000);
    if (refusal !== undefined) this.#failures.inc({ component: 'function', reason: refusal.code });
    const message = `${Math.round(ms * 1000) / 1000}ms${SUFFIX[outcome]}`;
    const entry = entryOf(call, now, { level: 'exec_end', message, sequence: LAST, args: null });
    this.#log(entry);
    // Rejected: it was handed over, but no instance could be reached.
    if (outcome === 'rejected') return;
    const failed = outcome === 'error' || outcome === 'timeout';
    this.#execution({ functionName: entry.functionName, endedAt: entry.timestamp, durationMs: ms, failed });
  }

  /** The call never reached an instance. */
  rejected(call: Examined, refusal: Refusal, reason: string): void {
    count(call, refusal.status);
    if (refusal.code === 'unauthorized' || refusal.code === 'throttled') this.#authRejections.inc({ reason });
    else this.#failures.inc({ component: 'router', reason });
    const args = JSON.stringify({ reason });
    // It may have been refused before its keys were looked for; and only the first of a minute have an entry.
    const hides = (text: string): boolean => holdsOne(call, text) || hasKey(text, this.#keys());
    this.#rejections.write({ functionName: call.fn.spec.id, requestId: call.id, reason }, () =>
      entryOf(call, this.#clock.monotonic(), {
        level: 'exec_reject',
        message: summary(call, hides),
        sequence: FIRST,
        args,
      }),
    );
  }

  /** Writes what is counted but not yet in the log. */
  close(): void {
    this.#rejections.close();
  }
}

/** @param now on the monotonic clock, as the call's arrival is: the wall clock is read once a call. */
function entryOf(call: RoutedCall, now: number, { level, message, sequence, args }: EntryFields): LogEntry {
  const timestamp = call.requestedAt + (now - call.arrivedAt);
  return { functionName: call.fn.spec.id, requestId: call.id, level, message, args, sequence, timestamp };
}

/** Never the query: it may hold a key. Nor a key in the path (R6). */
function summary({ req, target: { path } }: RoutedCall, hides: (text: string) => boolean): string {
  const shown = hides(path)
    ? path
        .split('/')
        .map((part) => (hides(part) ? MASK : part))
        .join('/')
    : path;
  return `${req.method ?? ''} ${shown}`;
}

/** Whether one of the call's keys is in the text, escaped or not, also inside of a longer word. */
function holdsOne({ keys = [] }: Examined, text: string): boolean {
  return holdsOneOf(text, keys);
}

type EntryFields = Pick<LogEntry, 'level' | 'message' | 'sequence' | 'args'>;

function answeredCode(call: RoutedCall): number {
  return call.res.headersSent ? call.res.statusCode : CODE_CLOSED;
}

function count(call: RoutedCall, status: number, seconds?: number): void {
  call.fn.series.counted(call.req.method ?? '', status, seconds);
}

import { METRICS } from '@wherry/core/metrics/metrics.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Histogram, Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { hasKey } from '../auth/held-keys.ts';
import type { KeyIndex } from '../auth/key-index.ts';
import { holdsOneOf } from '../auth/query-key.ts';
import type { AdmittedCall, RoutedCall } from '../call.ts';
import { headerValue } from '../headers/raw-headers.ts';
import type { Refusal } from '../refusal.ts';
import { CODE_CLOSED } from './function-series.ts';
import { RejectionLog } from './rejection-log.ts';
import { FIRST, LAST } from './sequence.ts';

/**
 * How a call ended: `ok` (whatever its status), `error` (it threw or crashed), `timeout`, `aborted` (the caller left,
 * or sent a body that cannot be taken), `rejected` (no instance took it).
 */
export type CallOutcome = 'ok' | 'error' | 'timeout' | 'aborted' | 'rejected';

const SUFFIX: Record<CallOutcome, string> = {
  ok: '',
  aborted: '',
  error: ' (error)',
  rejected: ' (error)',
  timeout: ' (timeout)',
};
/** What stands in a log entry where the caller put a key. */
const MASK = '***';
/** A call whose carriers were looked through, where it came that far. */
type Examined = RoutedCall & Partial<Pick<AdmittedCall, 'keys'>>;

/** Writes the platform's own records of calls: log entries and metrics. */
export class CallRecorder {
  readonly #clock: Clock;
  readonly #log: (entry: LogEntry) => void;
  readonly #rejections: RejectionLog;
  readonly #keys: () => KeyIndex | undefined;
  readonly #startedAt = new WeakMap<RoutedCall, number>();
  readonly #overhead: Histogram;
  readonly #authRejections: Counter;
  readonly #failures: Counter;

  /** @param options.keys those that are known now: none of them is written anywhere. */
  constructor(
    clock: Clock,
    metrics: Metrics,
    options: { log: (entry: LogEntry) => void; keys: () => KeyIndex | undefined },
  ) {
    this.#clock = clock;
    this.#log = options.log;
    this.#keys = options.keys;
    this.#rejections = new RejectionLog(clock, options.log);
    this.#overhead = metrics.histogram(METRICS.routerOverhead);
    this.#authRejections = metrics.counter(METRICS.authRejections);
    this.#failures = metrics.counter(METRICS.invocationFailures);
  }

  /** The call is handed to an instance. */
  started(call: AdmittedCall): void {
    const now = this.#clock.monotonic();
    this.#startedAt.set(call, now);
    this.#overhead.observe((now - call.arrivedAt) / 1000);
    call.fn.series.started();
    const { rawHeaders } = call.req;
    const origin = headerValue(rawHeaders, 'origin') ?? null;
    const args = {
      origin: origin !== null && holdsOne(call, origin) ? MASK : origin,
      keyGroup: call.auth?.key.groupName ?? null,
      contentLength: call.body.length,
    };
    this.#write(call, {
      level: 'exec_start',
      message: summary(call, (text) => holdsOne(call, text)),
      sequence: FIRST,
      args: JSON.stringify(args),
    });
  }

  /** The call is over, whether it was handed over or not. */
  finished(call: AdmittedCall, outcome: CallOutcome, refusal?: Refusal): void {
    const startedAt = this.#startedAt.get(call);
    if (startedAt === undefined) {
      if (refusal !== undefined) this.rejected(call, refusal, refusal.code);
      return;
    }
    this.#startedAt.delete(call);
    const ms = this.#clock.monotonic() - startedAt;
    call.fn.series.ended();
    // The instance had no slot for it and did not run it.
    if (refusal?.code === 'over_capacity') return this.rejected(call, refusal, refusal.code);
    count(call, refusal === undefined ? answeredCode(call) : refusal.status, ms / 1000);
    if (refusal !== undefined) this.#failures.inc({ component: 'function', reason: refusal.code });
    const message = `${Math.round(ms * 1000) / 1000}ms${SUFFIX[outcome]}`;
    this.#write(call, { level: 'exec_end', message, sequence: LAST, args: null });
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
      this.#entry(call, { level: 'exec_reject', message: summary(call, hides), sequence: FIRST, args }),
    );
  }

  /** Writes what is counted but not yet in the log. */
  close(): void {
    this.#rejections.close();
  }

  #write(call: RoutedCall, entry: EntryFields): void {
    this.#log(this.#entry(call, entry));
  }

  #entry(call: RoutedCall, entry: EntryFields): LogEntry {
    return { functionName: call.fn.spec.id, requestId: call.id, timestamp: this.#clock.now(), ...entry };
  }
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

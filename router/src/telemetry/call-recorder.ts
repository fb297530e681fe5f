import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Counter, Gauge, Histogram, Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { hasKey } from '../auth/held-keys.ts';
import type { KeyIndex } from '../auth/key-index.ts';
import { unescaped } from '../auth/query-key.ts';
import type { AdmittedCall, RoutedCall } from '../call.ts';
import { headerValue } from '../headers/raw-headers.ts';
import type { Refusal } from '../refusal.ts';
import { RejectionLog } from './rejection-log.ts';
import { FIRST, LAST } from './sequence.ts';

/**
 * How a call ended: `ok` (whatever its status), `error` (it threw or crashed), `timeout`, `aborted` (the caller left, or
 * sent a body that cannot be taken), `rejected` (no instance took it).
 */
export type CallOutcome = 'ok' | 'error' | 'timeout' | 'aborted' | 'rejected';

const SUFFIX: Record<CallOutcome, string> = {
  ok: '',
  aborted: '',
  error: ' (error)',
  rejected: ' (error)',
  timeout: ' (timeout)',
};
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']);
/** What stands in a log entry where the caller put a key. */
const MASK = '***';
/** A call whose carriers were looked through, where it came that far. */
type Examined = RoutedCall & Partial<Pick<AdmittedCall, 'keys'>>;
/** What nobody got: the caller had left. */
const CODE_CLOSED = '499';

/** Writes the platform's own records of calls: log entries and figures. */
export class CallRecorder {
  readonly #clock: Clock;
  readonly #log: (entry: LogEntry) => void;
  readonly #rejections: RejectionLog;
  readonly #keys: () => KeyIndex | undefined;
  readonly #startedAt = new WeakMap<RoutedCall, number>();
  readonly #calls: Counter;
  readonly #seconds: Histogram;
  readonly #inFlight: Gauge;
  readonly #overhead: Histogram;
  readonly #authRejections: Counter;
  readonly #failures: Counter;

  /** @param options.keys those that are known now: none of them is written anywhere. */
  constructor(clock: Clock, metrics: Metrics, options: { log: (entry: LogEntry) => void; keys: () => KeyIndex | undefined }) {
    this.#clock = clock;
    this.#log = options.log;
    this.#keys = options.keys;
    this.#rejections = new RejectionLog(clock, options.log);
    const fn = ['function_namespace', 'function_name'];
    const call = [...fn, 'function_revision', 'route', 'method', 'code'];
    this.#calls = metrics.counter('function_calls_total', 'Calls whose function was known, by outcome.', call);
    this.#seconds = metrics.histogram('function_duration_seconds', 'From handing a call to an instance to its end.', call);
    this.#inFlight = metrics.gauge('function_inflight', 'Calls that an instance is working on.', fn);
    this.#overhead = metrics.histogram('router_overhead_seconds', 'From a call\'s arrival to handing it to an instance.');
    this.#authRejections = metrics.counter('auth_rejections_total', 'Calls refused for their key.', ['reason']);
    this.#failures = metrics.counter('invocation_failures_total', 'Calls that failed on the way.', ['component', 'reason']);
  }

  /** The call is handed to an instance. */
  started(call: AdmittedCall): void {
    const now = this.#clock.monotonic();
    this.#startedAt.set(call, now);
    this.#overhead.observe((now - call.arrivedAt) / 1000);
    this.#inFlight.inc(functionLabels(call), 1);
    const { rawHeaders } = call.req;
    const origin = headerValue(rawHeaders, 'origin') ?? null;
    const args = {
      origin: origin !== null && this.#hasKey(call, origin) ? MASK : origin,
      keyGroup: call.auth?.key.groupName ?? null,
      contentLength: call.body.length,
    };
    this.#write(call, { level: 'exec_start', message: this.#summary(call), sequence: FIRST, args: JSON.stringify(args) });
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
    this.#inFlight.inc(functionLabels(call), -1);
    // The instance had no place for it and did not run it.
    if (refusal?.code === 'over_capacity') return this.rejected(call, refusal, refusal.code);
    const labels = callLabels(call, refusal === undefined ? answeredCode(call) : String(refusal.status));
    this.#calls.inc(labels);
    this.#seconds.observe(ms / 1000, labels);
    if (refusal !== undefined) this.#failures.inc({ component: 'function', reason: refusal.code });
    const message = `${Math.round(ms * 1000) / 1000}ms${SUFFIX[outcome]}`;
    this.#write(call, { level: 'exec_end', message, sequence: LAST, args: null });
  }

  /** The call never reached an instance. */
  rejected(call: Examined, refusal: Refusal, reason: string): void {
    this.#calls.inc(callLabels(call, String(refusal.status)));
    if (refusal.code === 'unauthorized' || refusal.code === 'throttled') this.#authRejections.inc({ reason });
    else this.#failures.inc({ component: 'router', reason });
    const args = JSON.stringify({ reason });
    this.#rejections.write({ functionName: call.fn.spec.id, requestId: call.id, reason }, () =>
      this.#entry(call, { level: 'exec_reject', message: this.#summary(call), sequence: FIRST, args }),
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

  /** Never the query: it may hold a key. Nor a key in the path (R6). */
  #summary(call: Examined): string {
    const { path } = call.target;
    const shown = this.#hasKey(call, path) ? path.split('/').map((part) => (this.#hasKey(call, part) ? MASK : part)).join('/') : path;
    return `${call.req.method ?? ''} ${shown}`;
  }

  /** Whether a key is in the text, escaped or not: any that is known, and the call's own ones inside of other text too. */
  #hasKey({ keys = [] }: Examined, text: string): boolean {
    return keys.some((key) => unescaped(text).includes(key)) || hasKey(text, this.#keys());
  }
}

type EntryFields = Pick<LogEntry, 'level' | 'message' | 'sequence' | 'args'>;

function answeredCode(call: RoutedCall): string {
  return call.res.headersSent ? String(call.res.statusCode) : CODE_CLOSED;
}

function functionLabels(call: RoutedCall): Record<string, string> {
  return { function_namespace: call.fn.spec.namespace, function_name: call.fn.spec.id };
}

function callLabels(call: RoutedCall, code: string): Record<string, string> {
  const method = call.req.method ?? '';
  return {
    ...functionLabels(call),
    function_revision: call.fn.spec.revision ?? '',
    route: call.fn.spec.route,
    method: METHODS.has(method) ? method : '_OTHER',
    code,
  };
}

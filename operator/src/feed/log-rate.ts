import type { Clock } from '@wherry/core/ports/clock.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { logEntryBytes } from '@wherry/service/log-entry-bytes.ts';

/** What a function may log: a rate per second in the long run, and a burst. */
export interface LogRateLimits {
  bytesPerSecond: number;
  burstBytes: number;
  /** What an entry costs at least, so that the same limit bounds their number. */
  leastBytes: number;
}

/** 1 MiB or 1024 entries a second, and eight times as much at once. Documented in docs/guides/handlers.md. */
export const LOG_RATE: LogRateLimits = { bytesPerSecond: 1024 * 1024, burstBytes: 8 * 1024 * 1024, leastBytes: 1024 };

/** How often the number of dropped entries is reported. */
const REPORT_MS = 10_000;
/** Between two reports, of one function. Documented in docs/reference/metrics.md. */
const MAX_MISSED = 10_000_000;

interface Bucket {
  functionName: string;
  kind: string;
  /** Bytes that may still come. */
  left: number;
  /** When `left` was counted, on the monotonic clock. */
  at: number;
  /** Since the last report; `missed` are those of them that were dropped before they came here. */
  dropped: number;
  missed: number;
}

interface LogRateOptions {
  limits?: LogRateLimits;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  /** Takes the entries that say how many others are missing. */
  report: (entries: LogEntry[]) => void;
}

/**
 * A token bucket for each function's entries, beyond which they are counted, not kept (M10): a function that logs
 * endlessly takes neither queue space nor disk space from others. The function's own log says what is missing.
 */
export class LogRate {
  readonly #options: LogRateOptions;
  readonly #limits: LogRateLimits;
  readonly #buckets = new Map<string, Bucket>();
  #cancel: (() => void) | undefined;

  constructor(options: LogRateOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LOG_RATE;
  }

  /**
   * @param kindOf entries of different kinds have buckets of their own.
   * @returns the entries that are within the rate.
   */
  within(entries: LogEntry[], kindOf: (entry: LogEntry) => string): LogEntry[] {
    let bucket: Bucket | undefined;
    return entries.filter((entry) => {
      const kind = kindOf(entry);
      // Most batches are of one function: its bucket is looked up once.
      if (bucket?.functionName !== entry.functionName || bucket.kind !== kind)
        bucket = this.#bucketOf(entry.functionName, kind);
      const cost = Math.max(logEntryBytes(entry), this.#limits.leastBytes);
      const isWithin = cost <= bucket.left;
      if (isWithin) bucket.left -= cost;
      else bucket.dropped += 1;
      return isWithin;
    });
  }

  /**
   * Entries of a function that were dropped before they came here: according to its instance, which a handler may have
   * manipulated. Between two reports no more of them are accepted than many instances could print.
   * @returns how many of them are.
   */
  missed(functionName: string, kind: string, count: number): number {
    if (count <= 0) return 0;
    const bucket = this.#bucketOf(functionName, kind);
    const believed = Math.min(count, MAX_MISSED - bucket.missed);
    bucket.missed += believed;
    bucket.dropped += believed;
    return believed;
  }

  /** Reports what was dropped since the last time, and ends. */
  stop(): void {
    this.#cancel?.();
    this.#report();
    this.#buckets.clear();
  }

  #bucketOf(functionName: string, kind: string): Bucket {
    const { clock } = this.#options;
    const key = `${kind}/${functionName}`;
    const at = clock.monotonic();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined)
      this.#buckets.set(
        key,
        (bucket = { functionName, kind, left: this.#limits.burstBytes, at, dropped: 0, missed: 0 }),
      );
    bucket.left = this.#refilled(bucket, at);
    bucket.at = at;
    this.#cancel ??= clock.after(REPORT_MS, () => this.#tick());
    return bucket;
  }

  #refilled({ left, at }: Bucket, now: number): number {
    const { bytesPerSecond, burstBytes } = this.#limits;
    return Math.min(burstBytes, left + ((now - at) / 1000) * bytesPerSecond);
  }

  /** Continues as long as any function logs: a full bucket is the same as a new one. */
  #tick(): void {
    const { clock } = this.#options;
    this.#report();
    const now = clock.monotonic();
    for (const [key, bucket] of this.#buckets)
      if (this.#refilled(bucket, now) >= this.#limits.burstBytes) this.#buckets.delete(key);
    this.#cancel = this.#buckets.size === 0 ? undefined : clock.after(REPORT_MS, () => this.#tick());
  }

  #report(): void {
    const timestamp = this.#options.clock.now();
    const dropped = new Map<string, number>();
    for (const bucket of this.#buckets.values()) {
      if (bucket.dropped > 0)
        dropped.set(bucket.functionName, (dropped.get(bucket.functionName) ?? 0) + bucket.dropped);
      bucket.dropped = 0;
      bucket.missed = 0;
    }
    const entries = [...dropped].map(([functionName, count]): LogEntry => ({
      functionName,
      requestId: '',
      level: 'warn',
      message: `${count} log ${count === 1 ? 'entry was' : 'entries were'} dropped: the function logs faster than its rate allows`,
      args: null,
      sequence: 0,
      timestamp,
    }));
    if (entries.length > 0) this.#options.report(entries);
  }
}

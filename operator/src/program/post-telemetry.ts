import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { LogEntry, TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import { BatchQueue } from '@wherry/service/batch-queue.ts';
import { logEntryOwner } from '@wherry/service/log-entry-owner.ts';

/** Entries that wait while the manager is not available. */
const CAPACITY = { items: 20_000, bytes: 16 * 1024 * 1024 };
/** Of one batch; the manager takes more. */
const BATCH = { items: 2000, bytes: 4 * 1024 * 1024 };
/** Entries that arrive within this time are sent together. */
const GATHER_MS = 100;
const RETRY = { firstMs: 500, lastMs: 15_000 };

interface TelemetryPosterOptions {
  /**
   * Sends one batch as JSON.
   * @returns how many of its entries the manager did not accept.
   * @throws DomainError: `too_large` or `validation_failed` for a batch that would be refused again, `unavailable` when
   *   a retry may succeed
   */
  send: (body: string) => Promise<number>;
  /** Counts lost entries: too many waited, or the manager did not accept them. */
  onDropped: (count: number, reason: 'congested' | 'refused') => void;
  clock: Clock;
  logger: Logger;
}

/** An entry as it is sent: written as JSON once, so that its bytes are those that go. */
interface Written {
  owner: string;
  json: string;
  bytes: number;
}

/**
 * Sends log entries to the manager in batches. While the manager is not available they wait; when too many wait, the
 * oldest ones of the functions with the most are dropped. A batch that the manager refuses is divided until the
 * offending entry is alone.
 */
export class TelemetryPoster implements TelemetrySink {
  readonly #options: TelemetryPosterOptions;
  readonly #queue: BatchQueue<Written>;
  #cancel: (() => void) | undefined;
  #posting: Promise<void> | undefined;
  readonly #retries = new Backoff(RETRY);
  /** Undefined where the last batch was sent. */
  #retryMs: number | undefined;
  #stopped = false;

  constructor(options: TelemetryPosterOptions) {
    this.#options = options;
    this.#queue = new BatchQueue<Written>({
      capacity: CAPACITY,
      batch: BATCH,
      sizeOf: ({ bytes }) => bytes,
      ownerOf: ({ owner }) => owner,
      onDropped: (count) => this.#lose(count, 'congested'),
    });
  }

  write(entries: LogEntry[]): void {
    for (const entry of entries) {
      const json = JSON.stringify(entry);
      // With the comma, or the bracket, that follows it.
      this.#queue.push({ owner: logEntryOwner(entry), json, bytes: Buffer.byteLength(json) + 1 });
    }
    this.#postLater(GATHER_MS);
  }

  /** Tries once more to send what is waiting, and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#posting;
    while (this.#queue.length > 0 && (await this.#post(this.#queue.take())));
    this.#lose(this.#queue.length, 'congested');
  }

  #postLater(ms: number): void {
    if (this.#stopped || this.#posting !== undefined || this.#queue.length === 0) return;
    this.#cancel ??= this.#options.clock.after(ms, () => {
      this.#cancel = undefined;
      this.#posting = this.#post(this.#queue.take()).then(() => {
        this.#posting = undefined;
        this.#postLater(this.#retryMs ?? GATHER_MS);
      });
    });
  }

  /** @returns whether the batch is done with. What could not be sent waits again, ahead of later entries. */
  async #post(batch: Written[]): Promise<boolean> {
    const parts = [batch];
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      try {
        this.#lose(await this.#options.send(`[${part.map(({ json }) => json).join(',')}]`), 'refused');
        this.#retries.reset();
        this.#retryMs = undefined;
      } catch (error) {
        if (isAway(error)) {
          this.#wait([part, ...parts].flat(), error);
          return false;
        }
        parts.unshift(...this.#divide(part, error));
      }
    }
    return true;
  }

  #wait(batch: Written[], error: unknown): void {
    this.#queue.putBack(batch);
    if (this.#retryMs === undefined)
      this.#options.logger.warn({ err: error }, 'log entries cannot be sent to the manager; they wait');
    this.#retryMs = this.#retries.failed();
  }

  /** The halves of a batch that was refused for what is in it; none where no part of it could succeed. */
  #divide(batch: Written[], error: unknown): Written[][] {
    const isOfContent = isDomainError(error, 'too_large') || isDomainError(error, 'validation_failed');
    const middle = Math.ceil(batch.length / 2);
    if (isOfContent && batch.length > 1) return [batch.slice(0, middle), batch.slice(middle)];
    this.#options.logger.warn(
      { err: error, entries: batch.length, function: batch[0]?.owner },
      'the manager refused log entries; they are lost',
    );
    this.#lose(batch.length, 'refused');
    return [];
  }

  #lose(count: number, reason: 'congested' | 'refused'): void {
    if (count > 0) this.#options.onDropped(count, reason);
  }
}

function isAway(error: unknown): boolean {
  return !isDomainError(error) || error.code === 'unavailable' || error.code === 'internal_error';
}

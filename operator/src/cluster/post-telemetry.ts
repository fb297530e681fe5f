import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { LogEntry, TelemetrySink } from '@wherry/core/ports/telemetry.ts';

/** Entries that wait while the manager is away. */
const MAX_WAITING = 20_000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Of one batch; the manager takes more. */
const MAX_BATCH = 2000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** What comes within this time goes together. */
const GATHER_MS = 100;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;
/** What an entry costs beside its texts. */
const ENTRY_BYTES = 200;

export interface TelemetryPosterOptions {
  /** Sends one batch as JSON. @throws DomainError; `unavailable` when it may go better later */
  send: (body: string) => Promise<void>;
  /** So many were lost. */
  onDropped: (count: number) => void;
  clock: Clock;
  logger: Logger;
}

/** Hands log entries on to the manager, in batches. While it is away they wait, the oldest go first when there are too many. */
export interface TelemetryPoster extends TelemetrySink {
  /** Tries once more to send what waits, and ends. */
  stop(): Promise<void>;
}

export function createTelemetryPoster(options: TelemetryPosterOptions): TelemetryPoster {
  return new QueuedPoster(options);
}

class QueuedPoster implements TelemetryPoster {
  readonly #options: TelemetryPosterOptions;
  #waiting: { entry: LogEntry; bytes: number }[] = [];
  #bytes = 0;
  #cancel: (() => void) | undefined;
  #posting: Promise<void> | undefined;
  #retryMs = 0;
  #stopped = false;

  constructor(options: TelemetryPosterOptions) {
    this.#options = options;
  }

  write(entries: LogEntry[]): void {
    for (const entry of entries) {
      const bytes = sizeOf(entry);
      this.#waiting.push({ entry, bytes });
      this.#bytes += bytes;
    }
    this.#dropOldest();
    this.#postLater(GATHER_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#posting;
    while (this.#waiting.length > 0 && (await this.#postBatch()));
    this.#lose(this.#waiting.length);
  }

  #postLater(ms: number): void {
    if (this.#stopped || this.#posting !== undefined || this.#waiting.length === 0) return;
    this.#cancel ??= this.#options.clock.after(ms, () => {
      this.#cancel = undefined;
      this.#posting = this.#postBatch().then(() => {
        this.#posting = undefined;
        this.#postLater(this.#retryMs === 0 ? GATHER_MS : this.#retryMs);
      });
    });
  }

  /** @returns whether the batch is done with. What could not be sent waits again, before all that came since. */
  async #postBatch(): Promise<boolean> {
    const batch = this.#takeBatch();
    try {
      await this.#options.send(JSON.stringify(batch.map(({ entry }) => entry)));
      this.#retryMs = 0;
      return true;
    } catch (error) {
      const isAway = !isDomainError(error) || error.code === 'unavailable' || error.code === 'internal_error';
      if (isAway) {
        this.#waiting = [...batch, ...this.#waiting];
        this.#bytes += sum(batch);
        this.#dropOldest();
        if (this.#retryMs === 0) this.#options.logger.warn({ err: error }, 'log entries cannot be handed to the manager: they wait');
        this.#retryMs = Math.min(LAST_RETRY_MS, Math.max(FIRST_RETRY_MS, this.#retryMs * 2));
        return false;
      }
      this.#options.logger.warn({ err: error, entries: batch.length }, 'the manager refused log entries: they are lost');
      this.#lose(batch.length);
      return true;
    }
  }

  #takeBatch(): { entry: LogEntry; bytes: number }[] {
    let count = 0;
    let bytes = 0;
    for (const one of this.#waiting) {
      if (count >= MAX_BATCH || (count > 0 && bytes + one.bytes > MAX_BATCH_BYTES)) break;
      count += 1;
      bytes += one.bytes;
    }
    this.#bytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  #dropOldest(): void {
    let dropped = 0;
    while (this.#waiting.length - dropped > MAX_WAITING || (this.#bytes > MAX_WAITING_BYTES && dropped < this.#waiting.length)) {
      this.#bytes -= this.#waiting[dropped]?.bytes ?? 0;
      dropped += 1;
    }
    if (dropped > 0) this.#waiting.splice(0, dropped);
    this.#lose(dropped);
  }

  #lose(count: number): void {
    if (count > 0) this.#options.onDropped(count);
  }
}

const sizeOf = ({ message, args }: LogEntry): number => message.length + (args?.length ?? 0) + ENTRY_BYTES;
const sum = (batch: { bytes: number }[]): number => batch.reduce((total, { bytes }) => total + bytes, 0);

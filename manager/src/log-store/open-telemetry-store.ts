import { Worker } from 'node:worker_threads';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyUses, QuotaGrant, QuotaRequest } from '@wherry/core/ports/key-ledger.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { LogEntry } from '@wherry/core/ports/telemetry.ts';
import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { BatchQueue } from '@wherry/service/batch-queue.ts';
import { logEntryOwner } from '@wherry/service/log-entry-owner.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { DatabaseThread, type ThreadDatabase } from '../sqlite-thread/database-thread.ts';
import type { TelemetryOpening, TelemetryOperation } from './telemetry-messages.ts';
import type {
  FollowedLogs,
  FollowQuery,
  LogQuery,
  LogRetention,
  StoredLogEntry,
  TelemetryStore,
} from './telemetry-store.ts';

/** How much may wait for the thread. */
const CAPACITY = { items: 50_000, bytes: 64 * 1024 * 1024 };
/** Of one transaction. */
const BATCH = { items: 1000, bytes: 4 * 1024 * 1024 };
const BATCH_DELAY_MS = 25;
/** Characters of a message or of its arguments: one line must not fill the disk. */
const MAX_TEXT = 262_144;
/** What an entry takes beside its texts. */
const ENTRY_BYTES = 200;

export interface TelemetryOptions {
  /** Path of the database. */
  file: string;
  /** Bytes of the file at most; what one transaction writes comes on top, in the file or in its write-ahead log. */
  maxBytes: number;
  clock: Clock;
  logger: Logger;
  /** The thread starts while they are still being loaded. */
  metrics?: Metrics | Promise<Metrics>;
  /** One of telemetry-worker.ts; default: a new one. */
  thread?: DatabaseThread;
}

/**
 * Opens the log database in a worker thread: node:sqlite is synchronous.
 * @throws StartError when the database cannot be opened; one that is damaged is set aside with a warning.
 */
export async function openTelemetryStore(options: TelemetryOptions): Promise<TelemetryStore> {
  const retention: LogRetention = {
    maxPerFunction: Number(SETTINGS['log.trimming.max-per-function'].default),
    retentionSeconds: Number(SETTINGS['log.trimming.retention-seconds'].default),
    intervalSeconds: Number(SETTINGS['log.trimming.interval-seconds'].default),
  };
  const opening: TelemetryOpening = {
    file: options.file,
    maxPerFunction: retention.maxPerFunction,
    maxBytes: options.maxBytes,
  };
  const thread = options.thread ?? startLogsThread();
  try {
    const database = await thread.open<TelemetryOperation>('logs', opening, {
      name: 'log',
      logger: options.logger,
      consequence: 'logs are lost until the program is restarted',
    });
    const { setAside } = database;
    if (setAside !== undefined)
      options.logger.warn(
        { file: setAside },
        'the log database was damaged: it has been set aside, and a new one started',
      );
    return new WorkerTelemetryStore(database, { ...options, metrics: await options.metrics }, retention);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The log database ${options.file} cannot be opened (${reason}): fix its permissions, or move it away.`,
      error,
    );
  }
}

const startLogsThread = (): DatabaseThread =>
  new DatabaseThread(new Worker(new URL('./telemetry-worker.ts', import.meta.url), { name: 'telemetry' }));

type StoreParts = Omit<TelemetryOptions, 'metrics'> & { metrics: Metrics | undefined };

class WorkerTelemetryStore implements TelemetryStore {
  readonly #database: ThreadDatabase<TelemetryOperation>;
  readonly #options: StoreParts;
  readonly #countDropped: (by: number) => void;
  readonly #waiting: BatchQueue<LogEntry>;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #cancelFlush: (() => void) | undefined;
  #cancelTrim: (() => void) | undefined;
  #retention: LogRetention;
  readonly #writeListeners: Listeners<[]>;
  /** It accepts nothing any more. */
  #ended = false;

  constructor(database: ThreadDatabase<TelemetryOperation>, options: StoreParts, retention: LogRetention) {
    this.#database = database;
    this.#options = options;
    this.#retention = retention;
    const counter = options.metrics?.counter(METRICS.logEntriesLost);
    this.#writeListeners = new Listeners((error) =>
      options.logger.error({ err: error }, 'a listener for log entries threw'),
    );
    this.#countDropped = (by) => counter?.inc({}, by);
    this.#waiting = new BatchQueue<LogEntry>({
      capacity: CAPACITY,
      batch: BATCH,
      sizeOf,
      ownerOf: logEntryOwner,
      onDropped: (count) => this.#drop(count),
    });
    this.#scheduleTrim();
  }

  write(entries: LogEntry[]): void {
    if (this.#ended || this.#database.isGone()) return this.#drop(entries.length);
    for (const entry of entries) this.#waiting.push(bounded(entry));
    this.#cancelFlush ??= this.#options.clock.after(BATCH_DELAY_MS, () => void this.#flush());
  }

  async query(query: LogQuery): Promise<StoredLogEntry[]> {
    await this.#flush();
    return (await this.#database.call({ operation: 'query', query })) as StoredLogEntry[];
  }

  async knows(functionName: string): Promise<boolean> {
    await this.#flush();
    return (await this.#database.call({ operation: 'knows', functionName })) as boolean;
  }

  async uses(): Promise<KeyUses> {
    return (await this.#database.call({ operation: 'uses' })) as KeyUses;
  }

  async saveUses(uses: KeyUses, gone: readonly string[]): Promise<void> {
    await this.#database.call({ operation: 'save-uses', uses, gone });
  }

  follow(query: FollowQuery): Promise<FollowedLogs> {
    return this.#database.call({ operation: 'follow', query }) as Promise<FollowedLogs>;
  }

  async newest(): Promise<number> {
    await this.#flush();
    return (await this.#database.call({ operation: 'newest' })) as number;
  }

  onWrite(callback: () => void): () => void {
    return this.#writeListeners.add(callback);
  }

  async deleteFunction(functionName: string): Promise<number> {
    const until = await this.newest();
    for (let deleted = 0; ;) {
      const some = (await this.#database.call({ operation: 'delete', functionName, until })) as number;
      if (some === 0) return deleted;
      deleted += some;
    }
  }

  async grant(requests: Record<string, QuotaRequest>, day: number, most: number): Promise<Record<string, QuotaGrant>> {
    return (await this.#database.call({ operation: 'grant', requests, day, most })) as Record<string, QuotaGrant>;
  }

  retain(retention: LogRetention): void {
    if (JSON.stringify(retention) === JSON.stringify(this.#retention)) return;
    this.#retention = retention;
    void this.#trim();
  }

  dropped(): number {
    return this.#dropped;
  }

  async close(): Promise<void> {
    await this.#flush();
    this.#cancelTrim?.();
    this.#ended = true;
    await this.#database.close();
  }

  /** Writes at least what waits now. Only one batch at a time is in flight, so the bound covers everything else. */
  async #flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    // A round that is about to end may miss the latest entries.
    await this.#writing;
    if (this.#waiting.length === 0) return;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#waiting.take();
      try {
        await this.#database.call({ operation: 'write', entries });
        this.#writeListeners.notify();
      } catch (error) {
        this.#drop(entries.length);
        this.#options.logger.warn({ err: error, entries: entries.length }, 'log entries could not be written');
      }
    }
  }

  async #trim(): Promise<void> {
    this.#cancelTrim?.();
    const retention = this.#retention;
    const { maxPerFunction, retentionSeconds } = retention;
    const oldest = retentionSeconds === 0 ? undefined : this.#options.clock.now() - retentionSeconds * 1000;
    try {
      // In steps, so that writes and queries come in between; the newest settings end the earlier ones.
      while (
        this.#retention === retention &&
        (await this.#database.call({ operation: 'trim', maxPerFunction, oldest })) === true
      );
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'old log entries could not be trimmed');
    }
    this.#scheduleTrim();
  }

  #scheduleTrim(): void {
    this.#cancelTrim?.();
    if (this.#ended || this.#database.isGone()) return;
    this.#cancelTrim = this.#options.clock.after(this.#retention.intervalSeconds * 1000, () => void this.#trim());
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#countDropped(count);
  }
}

/** As it is stored: its texts, and about what the rest takes. */
const sizeOf = ({ message, args }: LogEntry): number =>
  Buffer.byteLength(message) + Buffer.byteLength(args ?? '') + ENTRY_BYTES;

function bounded(entry: LogEntry): LogEntry {
  const longArgs = entry.args !== null && entry.args.length > MAX_TEXT;
  if (entry.message.length <= MAX_TEXT && !longArgs) return entry;
  return {
    ...entry,
    message: entry.message.slice(0, MAX_TEXT),
    args: longArgs ? '["(too long to keep)"]' : entry.args,
  };
}

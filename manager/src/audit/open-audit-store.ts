import path from 'node:path';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { StartError } from '@wherry/service/start-error.ts';
import type { DatabaseThread, ThreadDatabase } from '../sqlite-thread/database-thread.ts';
import type { AuditOpening, AuditOperation } from './audit-messages.ts';
import { systemRecord, type AuditRecord, type StoredAuditRecord } from './audit-record.ts';
import type { AuditQuery, AuditStore } from './audit-store.ts';

/** How often old records are looked for. */
const TRIM_INTERVAL_MS = 3_600_000;
/** Records that go at a time. */
const TRIM_AT_ONCE = 5000;
const DAY_MS = 86_400_000;

interface AuditStoreOptions {
  /** Path of the database. */
  file: string;
  thread: DatabaseThread;
  clock: Clock;
  logger: Logger;
}

/**
 * Opens the audit records, in a file of their own. A damaged file is set aside under a unique name; an error in the log
 * and the first record of the new file report it.
 * @throws StartError when the database cannot be opened.
 */
export async function openAuditStore(options: AuditStoreOptions): Promise<AuditStore> {
  const { file, thread, clock, logger } = options;
  const opening: AuditOpening = { file, aside: `${file}.damaged-${Math.trunc(clock.now())}` };
  try {
    const database = await thread.open<AuditOperation>('audit', opening, {
      name: 'audit',
      logger,
      consequence: 'nothing can be changed until the program is restarted',
    });
    const { setAside } = database;
    const store = new WorkerAuditStore(database, options);
    if (setAside !== undefined) await reportDamage(store, setAside, options);
    return store;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The audit records ${file} cannot be opened (${reason}): correct the permissions of the file, or free some space on its disk.`,
      error,
    );
  }
}

async function reportDamage(store: AuditStore, setAside: string, { clock, logger }: AuditStoreOptions): Promise<void> {
  logger.error(
    { file: setAside },
    'the audit records were damaged: the file has been set aside, keep it; new records go to a new file',
  );
  const object = { kind: 'AuditLog', id: null, name: path.basename(setAside) };
  await store.append([systemRecord(clock.now(), { action: 'audit.set-aside', object, result: 'failed' })]);
}

class WorkerAuditStore implements AuditStore {
  readonly #database: ThreadDatabase<AuditOperation>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Records that arrive while others are being written: they share the next flush to the disk. */
  #next: { records: AuditRecord[]; written: PromiseWithResolvers<undefined> } | undefined;
  #isWriting = false;
  #retentionDays: number | undefined;
  #cancelTrim: (() => void) | undefined;
  #isClosed = false;

  constructor(database: ThreadDatabase<AuditOperation>, { clock, logger }: AuditStoreOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#logger = logger;
  }

  async append(records: readonly AuditRecord[]): Promise<void> {
    if (records.length === 0) return;
    this.#next ??= { records: [], written: Promise.withResolvers<undefined>() };
    const { written } = this.#next;
    // Not push(...records): a long list would overflow the stack.
    for (const record of records) this.#next.records.push(record);
    void this.#writeAll();
    await written.promise;
  }

  async query(query: AuditQuery): Promise<StoredAuditRecord[]> {
    return (await this.#database.call({ operation: 'query', query })) as StoredAuditRecord[];
  }

  retain(days: number): void {
    if (days === this.#retentionDays) return;
    this.#retentionDays = days;
    void this.#trim(days);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTrim?.();
    await this.#database.close();
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#next !== undefined) {
      const { records, written } = this.#next;
      this.#next = undefined;
      await this.#database
        .call({ operation: 'append', records })
        .then(() => written.resolve(undefined), written.reject);
    }
    this.#isWriting = false;
  }

  /** In batches, so that a write waits for a few thousand at most. Never rejects. */
  async #trim(days: number): Promise<void> {
    this.#cancelTrim?.();
    const oldest = this.#clock.now() - days * DAY_MS;
    try {
      while (
        !this.#isClosed &&
        (await this.#database.call({ operation: 'trim', oldest, limit: TRIM_AT_ONCE })) === TRIM_AT_ONCE
      );
    } catch (error) {
      if (!this.#isClosed) this.#logger.warn({ err: error }, 'old audit records could not be removed');
    }
    if (this.#isClosed || days !== this.#retentionDays) return;
    this.#cancelTrim?.();
    this.#cancelTrim = this.#clock.after(TRIM_INTERVAL_MS, () => void this.#trim(days));
  }
}

import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { systemRecord, type AuditRecord } from './audit-record.ts';
import type { AuditStore } from './audit-store.ts';
import { RecordBudget } from './record-budget.ts';

/** For callers without a valid management key: a flood of requests writes one record a minute. */
const UNIDENTIFIED = { burst: 100, perMinute: 1 };
/** For requests of callers with a valid key that were refused or failed. */
const IDENTIFIED = { burst: 1000, perMinute: 10 };
const SUMMARY_MS = 60_000;
const RETRY_MS = 5000;

interface AuditTrailOptions {
  store: AuditStore;
  clock: Clock;
  logger: Logger;
}

/**
 * Ensures that nothing is changed while records cannot be written (docs/adr/0017). When the disk is full, changes are
 * refused before they are made; the records of those in progress are kept in memory, reported in the log, and written
 * as soon as there is space.
 */
export class AuditTrail {
  readonly #options: AuditTrailOptions;
  readonly #budgets: Record<'unidentified' | 'identified', RecordBudget>;
  /** Records of changes that were made, in order. */
  #unwritten: AuditRecord[] = [];
  #writing: Promise<void> | undefined;
  #cancelRetry: (() => void) | undefined;
  #suppressed = 0;
  #cancelSummary: (() => void) | undefined;
  #isStopped = false;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
    this.#budgets = {
      unidentified: new RecordBudget({ ...UNIDENTIFIED, clock: options.clock }),
      identified: new RecordBudget({ ...IDENTIFIED, clock: options.clock }),
    };
  }

  /** @throws DomainError `unavailable` while records cannot be written: then nothing may be changed. */
  async requireWritable(): Promise<void> {
    if (this.#unwritten.length > 0) await this.#writeUnwritten();
  }

  /** Records changes that were made. @throws DomainError `unavailable`; the records are not lost then. */
  async recordChange(records: readonly AuditRecord[]): Promise<void> {
    try {
      await this.#options.store.append(records);
    } catch (error) {
      this.#options.logger.error(
        { err: error, records },
        'the audit record of a change cannot be written: free some disk space; further changes are rejected until the record is written',
      );
      this.#unwritten.push(...records);
      this.#scheduleRetry();
      throw notWritten();
    }
  }

  /** Records what is about to be read. @throws DomainError `unavailable`: then it must not be read. */
  async recordRead(records: readonly AuditRecord[]): Promise<void> {
    await this.#options.store.append(records).catch(() => {
      throw notWritten();
    });
  }

  /**
   * Records what was refused or failed, within a budget: what exceeds it is only counted. Never waits, never throws.
   */
  recordRefusal(record: AuditRecord, caller: 'unidentified' | 'identified'): void {
    if (this.#budgets[caller].take()) this.#note(record);
    else this.#suppress();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry?.();
    this.#cancelSummary?.();
    if (this.#suppressed > 0) this.#summarize();
    if (this.#unwritten.length > 0) await this.#writeUnwritten().catch(() => undefined);
  }

  #note(record: AuditRecord): void {
    this.#options.store.append([record]).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, record }, 'the audit record of a refused request could not be written');
    });
  }

  #suppress(): void {
    this.#suppressed += 1;
    if (!this.#isStopped) this.#cancelSummary ??= this.#options.clock.after(SUMMARY_MS, () => this.#summarize());
  }

  #summarize(): void {
    const object = {
      kind: 'AuditLog',
      id: null,
      name: `${this.#suppressed} refused requests without separate records`,
    };
    this.#suppressed = 0;
    this.#cancelSummary = undefined;
    this.#note(systemRecord(this.#options.clock.now(), { action: 'audit.suppress', object, result: 'denied' }));
  }

  /** One attempt at a time, shared by all who wait for it. */
  async #writeUnwritten(): Promise<void> {
    this.#writing ??= this.#tryToWrite().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  async #tryToWrite(): Promise<void> {
    const records = [...this.#unwritten];
    try {
      await this.#options.store.append(records);
    } catch {
      this.#scheduleRetry();
      throw notWritten();
    }
    this.#unwritten = this.#unwritten.slice(records.length);
    this.#options.logger.info(
      { records: records.length },
      'the audit records that could not be written before are now written',
    );
  }

  #scheduleRetry(): void {
    this.#cancelRetry?.();
    if (this.#isStopped) return;
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => {
      if (this.#unwritten.length > 0) this.#writeUnwritten().catch(() => undefined);
    });
  }
}

function notWritten(): DomainError {
  return new DomainError(
    'unavailable',
    'The audit record of this request cannot be written: free some space on the disk of the data directory, then try again.',
  );
}

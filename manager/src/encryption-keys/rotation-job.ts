import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Metrics } from '@wherry/core/ports/metrics.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import type { RingStorage } from '@wherry/service/keys/ring-storage.ts';
import {
  activate,
  beginRotation,
  conclude,
  isFull,
  nextRotation,
  READER_PATIENCE_MS,
  readersBehind,
  reportProgress,
  runningRotation,
  withoutReaders,
  type Counts,
} from '@wherry/service/keys/ring-transitions.ts';
import { systemRecord, type AuditRecord } from '../audit/audit-record.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { reencryptPass } from './reencrypt-pass.ts';
import { observeRotation } from './rotation-metrics.ts';

/** The settings of rotation. */
export interface RotationSettings {
  intervalDays: number;
  checkIntervalSeconds: number;
  batchSize: number;
  batchSleepMs: number;
}

interface RotationJobOptions {
  store: ResourceStore;
  ring: RingStorage;
  keyRing: KeyRing;
  /** The active settings, at each call. */
  settings: () => RotationSettings;
  trail: AuditTrail;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

const DAY_MS = 86_400_000;
/** The first check after a start: not beside everything else that starts. */
const FIRST_CHECK_MS = 60_000;
/** How often replicas are looked at that have not acknowledged a key. */
const LOOK_AGAIN_MS = 1000;
/** How often those see the progress who do not run the rotation. */
const REPORT_MS = 5000;
const RETRY = { firstMs: 500, lastMs: 10_000 };
/** How many values that do not decrypt the log names. */
const NAMED = 10;

/**
 * Runs rotations in the replica that leads. Each step begins from the stored state alone, so whoever leads next goes on
 * wherever the last one was killed. Two that lead at once do the same work twice, and lose nothing.
 */
export class RotationJob {
  readonly #options: RotationJobOptions;
  readonly #ended: Counter;
  #counts: Counts | undefined;
  #leading: { stop: AbortController; done: Promise<void> } | undefined;
  #wake = Promise.withResolvers<undefined>();

  constructor(options: RotationJobOptions) {
    this.#options = options;
    this.#ended = options.metrics.counter(METRICS.rotations);
    options.ring.onChange(() => this.wake());
  }

  /** Of the rotation that runs, else of the last one; all 0 before the first. */
  counts(): Counts {
    return this.#counts ?? this.#options.ring.ring().rotation ?? { processed: 0, total: 0, failed: 0 };
  }

  /** Metrics of the ring, which is known from now on. Every replica has them, whoever leads. */
  start(): void {
    const { metrics, ring } = this.#options;
    observeRotation(metrics, ring, () => this.counts());
  }

  lead(): void {
    if (this.#leading !== undefined) return;
    const stop = new AbortController();
    this.#leading = { stop, done: this.#work(stop.signal) };
  }

  /** Resolves when nothing of it runs any more. */
  async stopLeading(): Promise<void> {
    const { stop, done } = this.#leading ?? {};
    stop?.abort();
    await done;
    this.#leading = undefined;
    this.#counts = undefined;
  }

  /** Something that it waits for may have happened: the ring or a setting has changed. */
  wake(): void {
    this.#wake.resolve(undefined);
    this.#wake = Promise.withResolvers();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { ring, clock, logger, settings } = this.#options;
    const retries = new Backoff(RETRY);
    let checkAt = clock.monotonic() + FIRST_CHECK_MS;
    let checkedAt: number | undefined;
    while (!signal.aborted) {
      try {
        const due = checkedAt === undefined ? checkAt : checkedAt + settings().checkIntervalSeconds * 1000;
        checkAt = due;
        if (runningRotation(ring.ring()) !== undefined) await this.#rotate(signal);
        else if (clock.monotonic() >= due) {
          await this.#check(signal);
          checkedAt = clock.monotonic();
        } else await this.#untilWoken(due - clock.monotonic(), signal);
        retries.reset();
      } catch (error) {
        if (signal.aborted) return;
        const retryInMs = retries.failed();
        logger.warn({ err: error, retryInMs }, 'the encryption keys cannot be rotated or checked; trying again');
        await clock.sleep(retryInMs, signal).catch(() => undefined);
      }
    }
  }

  /** A rotation that is due begins; otherwise values that came back with an older key are encrypted again. */
  async #check(signal: AbortSignal): Promise<void> {
    const { ring, clock, settings, trail, logger } = this.#options;
    const isDue = (): boolean => clock.now() >= nextRotation(ring.ring(), settings().intervalDays * DAY_MS);
    const isBlocked = isDue() && isFull(ring.ring());
    if (isBlocked)
      logger.error(
        { keys: ring.ring().keys.length },
        'the encryption key is not rotated: there are too many keys; delete retired ones (DELETE /api/encryption-keys/{version})',
      );
    if (isBlocked || !isDue()) {
      const counts = await this.#reencryptAll(signal);
      await ring.change((state) =>
        runningRotation(state) === undefined ? conclude(state, clock.now(), counts) : state,
      );
      return;
    }
    await trail.requireWritable();
    const { current } = ring.ring();
    const after = await ring.change((state) =>
      runningRotation(state) === undefined && isDue() && !isFull(state) ? beginRotation(state, clock.now()) : state,
    );
    const target = runningRotation(after)?.target;
    if (target !== undefined && target > current)
      await trail.recordChange([this.#record({ action: 'encryption-key.rotate', result: 'ok' }, target)]);
  }

  async #rotate(signal: AbortSignal): Promise<void> {
    const { ring, clock, logger, trail } = this.#options;
    const target = runningRotation(ring.ring())?.target ?? 0;
    logger.info({ version: target }, 'the rotation of the encryption key is in progress');
    while ((await ring.change((state) => activate(state, clock.now()))).current < target) {
      logger.info({ replicas: readersBehind(ring.ring(), 'knows') }, 'waiting until every replica has the new key');
      await this.#untilWoken(LOOK_AGAIN_MS, signal);
    }
    const counts = await this.#reencryptAll(signal);
    signal.throwIfAborted();
    await ring.change((state) => conclude(state, clock.now(), counts));
    this.#counts = undefined;
    const result = counts.failed === 0 ? 'ok' : 'failed';
    this.#ended.inc({ result: counts.failed === 0 ? 'complete' : 'degraded' });
    await trail
      .recordChange([this.#record({ action: 'encryption-key.finish-rotation', result }, target)])
      .catch(() => undefined);
    logger.info({ version: target, ...counts }, 'the rotation of the encryption key has ended');
  }

  /**
   * Passes until one, which began after every replica encrypts with the current key, finds nothing to do.
   */
  async #reencryptAll(signal: AbortSignal): Promise<Counts> {
    const { store, keyRing, clock, ring, settings } = this.#options;
    const began = clock.monotonic();
    for (;;) {
      const behind = readersBehind(ring.ring(), 'writes');
      const { counts, unfinished, failures } = await reencryptPass({
        store,
        keyRing,
        clock,
        pace: settings,
        onProgress: this.#reporter(),
        signal,
      });
      if (unfinished > 0) continue;
      if (behind.length === 0) {
        this.#logFailures(failures);
        return counts;
      }
      if (clock.monotonic() - began >= READER_PATIENCE_MS) await ring.change((state) => withoutReaders(state, behind));
      else await this.#untilWoken(LOOK_AGAIN_MS, signal);
    }
  }

  #logFailures(failures: { object: string; problem: string }[]): void {
    if (failures.length === 0) return;
    this.#options.logger.error(
      {
        count: failures.length,
        values: failures.slice(0, NAMED).map(({ object, problem }) => `${object}: ${problem}`),
      },
      'values do not decrypt, so the older encryption keys are kept: write these values again, or restore their key',
    );
  }

  /** Other replicas, where there are any, read the progress in the ring. */
  #reporter(): (counts: Counts) => void {
    const { ring, clock, logger } = this.#options;
    let reportedAt = clock.monotonic();
    return (counts) => {
      this.#counts = runningRotation(ring.ring()) === undefined ? undefined : counts;
      if (ring.ring().readers === undefined || clock.monotonic() - reportedAt < REPORT_MS) return;
      reportedAt = clock.monotonic();
      ring
        .change((state) => reportProgress(state, counts))
        .catch((err: unknown) => logger.warn({ err }, 'the progress of the rotation could not be reported'));
    };
  }

  async #untilWoken(ms: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const over = AbortSignal.any([waiting.signal, signal]);
    const slept = this.#options.clock.sleep(ms, over).catch(() => undefined);
    await Promise.race([slept, this.#wake.promise]);
    waiting.abort();
    signal.throwIfAborted();
  }

  #record(act: Pick<AuditRecord, 'action' | 'result'>, version: number): AuditRecord {
    return systemRecord(this.#options.clock.now(), { ...act, object: keyObject(version) });
  }
}

/** An encryption key in audit records. */
export function keyObject(version: number): AuditRecord['object'] {
  return { kind: 'EncryptionKey', id: String(version), name: `version ${version}` };
}

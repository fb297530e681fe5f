import { isDomainError } from '@wherry/core/errors.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Gauge, Metrics } from '@wherry/core/ports/metrics.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { LeaseRecord, type Lease } from './lease-record.ts';
import { RestoreCount } from './restore-count.ts';

interface LeaderTimes {
  /** How long others wait for a holder that no longer renews. Whole seconds, as in a Lease. */
  durationSeconds: number;
  /** When a holder that could not renew stops leading: well before others may begin. */
  renewDeadlineMs: number;
  /** How often to try to renew, or to become the holder. */
  retryMs: number;
}
/** As Kubernetes' own controllers have them. */
const LEADER_TIMES: LeaderTimes = { durationSeconds: 15, renewDeadlineMs: 10_000, retryMs: 2000 };

interface LeaderElectionOptions {
  client: KubeClient;
  namespace: string;
  /** Of the Lease. */
  name: string;
  /** Our identity, for people: the pod's name. Each start is a candidate of its own. */
  identity: string;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  times?: LeaderTimes;
}

/**
 * One of several candidates that lead in turns, by a Lease. Two never lead at once, provided that their clocks run at
 * the same rate.
 */
export class LeaderElection {
  /** Counted in the Lease by all replicas, whoever leads. */
  readonly restores: RestoreCount;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #times: LeaderTimes;
  readonly #record: LeaseRecord;
  readonly #gauge: Gauge;
  readonly #listeners: Listeners<[leads: boolean]>;
  readonly #stopping = new AbortController();
  /** Monotonic: until when our last write entitles us to lead. */
  #until = 0;
  #notified = false;
  #cancel: () => void = () => undefined;
  /** The last state that we saw, and when we first saw it. */
  #seen: { lease: Lease; at: number } | undefined;
  #running: Promise<void> | undefined;

  constructor({
    client,
    namespace,
    name,
    identity,
    clock,
    logger,
    metrics,
    times = LEADER_TIMES,
  }: LeaderElectionOptions) {
    this.#clock = clock;
    this.#logger = logger.child({ lease: name });
    this.restores = new RestoreCount(this.#logger);
    this.#listeners = new Listeners((error) => this.#logger.error({ err: error }, 'a leadership handler threw'));
    this.#times = times;
    // A request that hangs must leave time for a retry.
    const timeoutMs = times.renewDeadlineMs / 2;
    this.#record = new LeaseRecord({
      client,
      namespace,
      name,
      identity,
      clock,
      durationSeconds: times.durationSeconds,
      timeoutMs,
    });
    this.#gauge = metrics.gauge(METRICS.leader);
    this.#gauge.set(0);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Stops leading and releases the Lease, so that another can lead at once: first stop whatever only a leader may do.
   * Never rejects: if the release fails, the Lease expires.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    const held = this.isLeader() ? this.#seen?.lease : undefined;
    this.#leadUntil(0);
    if (held === undefined) return;
    await this.#record.release(held).catch((error: unknown) => {
      this.#logger.warn({ err: error }, 'the lease could not be released: it will expire');
    });
  }

  isLeader(): boolean {
    // Read from the clock instead of set by a timer: after a stalled event loop it must not keep leading.
    return this.#clock.monotonic() < this.#until;
  }

  /** Calls back when it begins and when it ceases to lead. Returns how to stop. */
  onChange(callback: (leads: boolean) => void): () => void {
    return this.#listeners.add(callback);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#tryOnce();
      } catch (error) {
        // A conflict means that another one was faster, or that the answer to our own write was lost: the next read
        // shows it.
        this.#seen = this.#seen && { ...this.#seen, lease: { ...this.#seen.lease, isStale: true } };
        if (!isDomainError(error, 'conflict'))
          this.#logger.warn({ err: error, leads: this.isLeader() }, 'the lease could not be read or written');
      }
      await this.#clock.sleep(this.#times.retryMs * (0.9 + Math.random() / 5), signal).catch(() => undefined);
    }
  }

  async #tryOnce(): Promise<void> {
    // Our knowledge of a Lease that we hold is current, unless a write showed otherwise.
    const known = this.isLeader() && this.#seen?.lease.isStale !== true ? this.#seen?.lease : undefined;
    const lease = known ?? this.#observe(await this.#record.read());
    const { wanted } = this.restores;
    if (!this.#mayTake(lease)) {
      this.#leadUntil(0);
      if (lease !== undefined && lease.restores < wanted) this.#observe(await this.#record.count(lease, wanted));
      return;
    }
    const began = this.#clock.monotonic();
    const written = await this.#record.take(lease, wanted);
    this.restores.note(written);
    this.#seen = { lease: written, at: this.#clock.monotonic() };
    this.#leadUntil(began + this.#times.renewDeadlineMs);
  }

  /**
   * A Lease that changes is alive; what counts is how long it has not changed by our own clock, because clocks differ.
   */
  #observe(lease: Lease | undefined): Lease | undefined {
    if (lease !== undefined) this.restores.note(lease);
    if (lease === undefined) this.#seen = undefined;
    else if (lease.version === this.#seen?.lease.version) this.#seen = { ...this.#seen, lease };
    else this.#seen = { lease, at: this.#clock.monotonic() };
    return lease;
  }

  #mayTake(lease: Lease | undefined): boolean {
    if (lease === undefined || lease.holder === '' || lease.holder === this.#record.identity) return true;
    const silentMs = this.#clock.monotonic() - (this.#seen?.at ?? Infinity);
    return silentMs >= lease.durationSeconds * 1000;
  }

  #leadUntil(until: number): void {
    this.#cancel();
    this.#until = until;
    const left = until - this.#clock.monotonic();
    if (left > 0) this.#cancel = this.#clock.after(left, () => this.#leadUntil(0));
    this.#notify(left > 0);
  }

  #notify(leads: boolean): void {
    if (leads === this.#notified) return;
    this.#notified = leads;
    this.#gauge.set(leads ? 1 : 0);
    this.#logger.info({ leads }, leads ? 'became the leader' : 'is no longer the leader');
    this.#listeners.notify(leads);
  }
}

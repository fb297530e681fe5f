import type { Clock } from '@wherry/core/ports/clock.ts';
import type { RuntimeFeed, RuntimeIdentity, RuntimeOutcome, RuntimeSession } from '@wherry/core/ports/runtime-feed.ts';
import type { InstanceAddress, ObservedInstance, WorkloadFailure } from '@wherry/core/ports/workloads.ts';
import { exitMessage } from './exit-message.ts';
import { holdsMore } from './folder-size.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { privateMemoryMiB } from './process-table.ts';
import type { RuntimeProcess } from './runtime-process.ts';

type InstanceState = 'starting' | 'ready' | 'draining' | 'ended';

/** Why an instance ended: by itself, or what it was killed for. */
type EndCause = 'exit' | 'failed' | 'memory' | 'disk' | 'blocked' | 'start' | 'drained';

export interface InstanceEnd {
  cause: EndCause;
  reason: WorkloadFailure['reason'];
  message: string;
  /** How long it had been ready; undefined where it never was. */
  readyMs: number | undefined;
}

interface InstanceOptions {
  feed: RuntimeFeed;
  clock: Clock;
  limits: InstanceLimits;
  /** After each change of its state but the last, which `ended` reports. */
  onChange: () => void;
}

/** The end of its connection may come after the process's. */
const FINAL_MESSAGES_MS = 1000;

/** One instance of a workload: a runtime process from its `start` to its end. */
export class Instance {
  readonly id: string;
  readonly ended: Promise<InstanceEnd>;
  readonly #process: RuntimeProcess;
  readonly #options: InstanceOptions;
  readonly #session: RuntimeSession;
  #state: InstanceState = 'starting';
  #address: InstanceAddress | undefined;
  #readyAt: number | undefined;
  #killedFor: { cause: EndCause; message: string } | undefined;
  #heard = 0;
  #silentMs = 0;
  #sinceDiskCheckMs = 0;
  #cancelKill = (): void => undefined;

  constructor(process: RuntimeProcess, identity: RuntimeIdentity, options: InstanceOptions) {
    this.id = identity.instanceId;
    this.#process = process;
    this.#options = options;
    this.#session = options.feed.attach(process.channel, identity);
    this.ended = this.#run();
  }

  get state(): InstanceState {
    return this.#state;
  }

  observe(): ObservedInstance {
    const base = { id: this.id, ready: this.#state === 'ready' };
    return this.#address === undefined ? base : { ...base, address: { ...this.#address } };
  }

  /**
   * Lets running calls finish for `drainSeconds`, then ends it. One that never became ready has none: it ends at once.
   */
  drain(drainSeconds: number): void {
    if (this.#state === 'ended' || this.#state === 'draining') return;
    const wasReady = this.#state === 'ready';
    this.#state = 'draining';
    if (wasReady) {
      this.#process.kill('SIGTERM');
      const patience = drainSeconds * 1000 + this.#options.limits.drainGraceMs;
      this.#cancelKill = this.#options.clock.after(patience, () =>
        this.#kill('drained', 'The instance did not stop in time.'),
      );
    } else {
      this.#kill('drained', 'The instance was no longer needed.');
    }
    this.#options.onChange();
  }

  /**
   * Ends it where it uses too much memory or disk, or blocks its event loop.
   * @param elapsedMs since the last check; less where the service itself was stalled, which is not the instance's
   *   fault.
   */
  check(elapsedMs: number): void {
    if (this.#state === 'ended' || this.#killedFor !== undefined) return;
    this.#checkMemory();
    this.#sinceDiskCheckMs += elapsedMs;
    if (this.#sinceDiskCheckMs >= this.#options.limits.diskCheckMs) void this.#checkDisk();
    // A draining one may end its feed while it finishes its calls; its time is limited anyway.
    if (this.#state !== 'draining') this.#checkSilence(elapsedMs);
  }

  #checkMemory(): void {
    const { pid, memoryMiB } = this.#process;
    const used = pid === undefined ? undefined : privateMemoryMiB(pid);
    if (used === undefined || used <= memoryMiB) return;
    this.#kill(
      'memory',
      `The instance used ${Math.ceil(used)} MiB of memory, and its limit is ${memoryMiB} MiB (spec.resources.memoryMiB).`,
    );
  }

  async #checkDisk(): Promise<void> {
    // Not before this check has ended.
    this.#sinceDiskCheckMs = -Infinity;
    const { temporaryMiB, temporaryEntries } = this.#options.limits;
    const full = await holdsMore(this.#process.folder.temporary, {
      bytes: temporaryMiB * 1024 * 1024,
      entries: temporaryEntries,
    });
    this.#sinceDiskCheckMs = 0;
    if (full && this.#state !== 'ended') {
      this.#kill(
        'disk',
        `The instance's temporary folder contained more than ${temporaryMiB} MiB or ${temporaryEntries} files.`,
      );
    }
  }

  #checkSilence(elapsedMs: number): void {
    const heard = this.#session.lastHeard();
    this.#silentMs = heard === this.#heard ? this.#silentMs + elapsedMs : 0;
    this.#heard = heard;
    const { blockedMs, startMs } = this.#options.limits;
    if (this.#state === 'ready' && this.#silentMs > blockedMs) {
      this.#kill('blocked', `The instance's event loop was blocked for ${blockedMs / 1000} s.`);
    } else if (this.#silentMs > startMs) {
      this.#kill('start', `The instance did not respond for ${startMs / 1000} s while it loaded the code.`);
    }
  }

  #kill(cause: EndCause, message: string): void {
    this.#killedFor ??= { cause, message };
    this.#process.kill('SIGKILL');
  }

  async #run(): Promise<InstanceEnd> {
    const { outcome } = this.#session;
    void outcome.then((result) => this.#started(result));
    const exit = await this.#process.exited;
    const wasReadyMs = this.#readyAt === undefined ? undefined : this.#options.clock.monotonic() - this.#readyAt;
    const wasDraining = this.#state === 'draining';
    this.#state = 'ended';
    this.#cancelKill();
    return { ...this.#why(await this.#finalMessages(outcome), exitMessage(exit), wasDraining), readyMs: wasReadyMs };
  }

  #started(result: RuntimeOutcome): void {
    if (this.#state !== 'starting') return;
    if (result.type === 'loaded') {
      this.#state = 'ready';
      this.#address = result.address;
      this.#readyAt = this.#options.clock.monotonic();
      this.#options.onChange();
    } else {
      // It exits by itself after either; not where its process lost the feed in some other way.
      this.#cancelKill = this.#options.clock.after(FINAL_MESSAGES_MS, () => this.#process.kill('SIGKILL'));
    }
  }

  /**
   * What it sent before it ended is read to the end (including its last log entries), then the connection closes
   * itself; then the outcome is known (the port's rule).
   */
  #finalMessages(outcome: Promise<RuntimeOutcome>): Promise<RuntimeOutcome> {
    const { channel } = this.#process;
    const cancel = this.#options.clock.after(FINAL_MESSAGES_MS, () => channel.close());
    void channel.closed.then(cancel);
    return outcome;
  }

  #why(outcome: RuntimeOutcome, exit: string, wasDraining: boolean): Omit<InstanceEnd, 'readyMs'> {
    if (this.#killedFor !== undefined) {
      const reason = this.#killedFor.cause === 'start' ? 'LoadError' : 'CrashLoop';
      return { ...this.#killedFor, reason };
    }
    if (outcome.type === 'failed') return { cause: 'failed', reason: outcome.reason, message: outcome.message };
    return { cause: wasDraining ? 'drained' : 'exit', reason: 'CrashLoop', message: exit };
  }
}

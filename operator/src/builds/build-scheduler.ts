import { METRICS } from '@wherry/core/metrics/metrics.ts';
import type { Builder, BuildFailureReason, BuildInput, BuildResult } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Histogram, Metrics } from '@wherry/core/ports/metrics.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { KeyedBackoff } from '@wherry/service/backoff.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { parseHandler, reachedSources, restsOn, type BuildTarget } from './build-target.ts';
import type { SourceLocks } from './source-locks.ts';

/** Builds at once (B1). */
const CONCURRENCY = 4;
/** A build that could not even be tried, or that a registry kept from its packages. */
const RETRY = { firstMs: 500, lastMs: 30_000 };

/** Each time all others have agreed; so twice is enough for all but the unluckiest. */
const AGREEMENTS = 3;

/** What is known of the code that a target describes. */
type BuildState =
  /** `first`: nothing is known of the handler yet; else what was known answers the order no longer. */
  | { state: 'building'; first: boolean }
  | { state: 'built'; revision: Digest }
  | { state: 'failed'; reason: BuildFailureReason; message: string };

export interface BuildMetrics {
  total: Counter;
  duration: Histogram;
}

interface BuildSchedulerOptions {
  builder: Builder;
  content: ContentStore;
  locks: SourceLocks;
  /** A build of this handler has ended: call `request` again. */
  onFinished: (handler: string) => void;
  clock: Clock;
  logger: Logger;
  metrics: BuildMetrics;
}

interface Known {
  /** The trees that it answers for. */
  trees: Digest;
  state: Exclude<BuildState, { state: 'building' }>;
  inputs: BuildInput[];
  restsOn: Digest;
}

interface Entry {
  /** What is to be built; what is known of it may be a failure that is tried again. */
  wanted?: { target: BuildTarget; digest: Digest };
  running?: AbortController;
  known?: Known;
}

/**
 * Has handlers built, outside of any reconcile: one build a handler at a time, the newest order wins. Functions with
 * one handler share its builds, and a build whose result is known is not done again.
 */
export class BuildScheduler {
  readonly #options: BuildSchedulerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #retries = new KeyedBackoff(RETRY);
  readonly #queue: WorkQueue;

  constructor(options: BuildSchedulerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      clock: options.clock,
      concurrency: CONCURRENCY,
      work: (handler) => this.#work(handler),
    });
    this.#queue.start();
  }

  /** What is known; has the handler built when nothing is. */
  request(target: BuildTarget): BuildState {
    const { handler } = target;
    const { digest } = target.activeTrees;
    const entry = this.#entries.get(handler) ?? {};
    this.#entries.set(handler, entry);
    const known = lookUp(entry, target, digest);
    const building = { state: 'building', first: entry.known === undefined } as const;
    if (entry.wanted?.digest === digest) return known ?? building;
    // What runs is of an older order.
    entry.running?.abort();
    if (known === undefined) entry.wanted = { target, digest };
    else delete entry.wanted;
    if (known === undefined) this.#queue.add(handler);
    return known ?? building;
  }

  /** Whether the handler's last result may change when this source does. */
  reaches(handler: string, source: string): boolean {
    const known = this.#entries.get(handler)?.known;
    return known?.state.state !== 'built' || reachedSources(handler, known.inputs).has(source);
  }

  /** Nobody uses the handler any more. */
  forget(handler: string): void {
    const entry = this.#entries.get(handler);
    this.#entries.delete(handler);
    entry?.running?.abort();
    this.#retries.forget(handler);
  }

  /** Artifacts of good builds: not to be collected. */
  revisions(): Digest[] {
    return [...this.#entries.values()].flatMap(({ known }) =>
      known?.state.state === 'built' ? [known.state.revision] : [],
    );
  }

  async stop(): Promise<void> {
    const ended = this.#queue.stop();
    for (const { running } of this.#entries.values()) running?.abort();
    await ended;
  }

  /** Resolves when nothing is being built. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #work(handler: string): Promise<number | undefined> {
    const entry = this.#entries.get(handler);
    if (entry?.wanted === undefined) return undefined;
    const { target, digest } = entry.wanted;
    const abort = new AbortController();
    entry.running = abort;
    try {
      const result = await this.#build(target, abort.signal);
      entry.known = {
        trees: digest,
        state: stateOf(result),
        inputs: result.inputs,
        restsOn: restsOn(target, result.inputs),
      };
      delete entry.running;
      const again = !result.ok && result.retry === true;
      if (!again) delete entry.wanted;
      if (!again) this.#retries.forget(handler);
      if (this.#entries.get(handler) !== entry) return undefined;
      this.#options.onFinished(handler);
      return again ? this.#retries.failed(handler) : undefined;
    } catch (error) {
      delete entry.running;
      // Whoever aborted it has already said what comes next.
      if (abort.signal.aborted) return undefined;
      const retryInMs = this.#retries.failed(handler);
      this.#options.logger.warn({ err: error, handler, retryInMs }, 'a build could not be tried');
      return retryInMs;
    }
  }

  /** Builds, and stores the locks and the artifact before it notifies anybody. */
  async #build(target: BuildTarget, signal: AbortSignal): Promise<BuildResult> {
    const { content, clock, metrics } = this.#options;
    const begun = clock.monotonic();
    const result = await this.#buildAgreed(target, signal);
    signal.throwIfAborted();
    metrics.duration.observe((clock.monotonic() - begun) / 1000);
    metrics.total.inc({ result: result.ok ? 'Built' : result.reason });
    if (!result.ok) return result;
    // B4: what serves is what the digest names.
    if (sha256(result.artifact) !== result.revision)
      throw new Error('the builder named an artifact by a digest that is not its own');
    await content.put(result.artifact);
    signal.throwIfAborted();
    return result;
  }

  /** Builds with the packages that are known for the sources. Where another build resolved others first, those hold. */
  async #buildAgreed(target: BuildTarget, signal: AbortSignal): Promise<BuildResult> {
    const { builder, locks } = this.#options;
    const trees = new Map([...target.activeTrees.trees].map(([name, tree]) => [name, tree.manifest]));
    for (let attempt = 1; attempt <= AGREEMENTS; attempt += 1) {
      const result = await builder.build(
        { ...parseHandler(target.handler), trees, locks: locks.known(trees.keys()) },
        signal,
      );
      if (result.locks === undefined || (await locks.keep(result.locks))) return result;
    }
    throw new Error('builds of the same source resolve other packages again and again');
  }
}

/**
 * The known result, where it answers this order too. A failure rests on all trees: what would fix it may be anywhere.
 */
function lookUp({ known }: Entry, target: BuildTarget, digest: Digest): BuildState | undefined {
  if (known === undefined) return undefined;
  const same =
    known.trees === digest || (known.state.state === 'built' && known.restsOn === restsOn(target, known.inputs));
  if (!same) return undefined;
  known.trees = digest;
  return known.state;
}

function stateOf(result: BuildResult): Known['state'] {
  if (result.ok) return { state: 'built', revision: result.revision };
  const { reason, message, location } = result;
  if (location === undefined) return { state: 'failed', reason, message };
  const place = `${location.file}:${location.line}:${location.column}`;
  return { state: 'failed', reason, message: message.startsWith(place) ? message : `${place}: ${message}` };
}

/** What builds count. A program has it once, however often it begins to lead. */
export function createBuildMetrics(metrics: Metrics): BuildMetrics {
  return {
    total: metrics.counter(METRICS.builds),
    duration: metrics.histogram(METRICS.buildDuration),
  };
}

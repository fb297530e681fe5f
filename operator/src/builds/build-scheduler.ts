import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Builder, BuildFailureReason, BuildInput, BuildResult } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Counter, Histogram, Metrics } from '@wherry/core/ports/metrics.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { KeyedBackoff } from '@wherry/service/backoff.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import { WorkQueue } from '../controller/work-queue.ts';
import { parseHandler, reachedSources, restsOn, type BuildTarget } from './build-target.ts';
import type { SourceLocks } from './source-locks.ts';

/** Builds at once (B1). */
const CONCURRENCY = 4;
/** A build that could not run, or could not get its packages from a registry. */
const RETRY = { firstMs: 500, lastMs: 30_000 };

const AT_ONCE_MS = 0;

/** After each attempt all other builds agree, so two attempts are almost always enough. */
const AGREEMENTS = 3;

/** What is known of the code that a target describes. */
type BuildState =
  /** `first`: nothing is known about the handler yet; otherwise the known result no longer answers the order. */
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
  clock: Clock;
  logger: Logger;
  metrics: BuildMetrics;
}

interface Known {
  /** The trees that the result is valid for. */
  trees: Digest;
  state: Exclude<BuildState, { state: 'building' }>;
  inputs: BuildInput[];
  restsOn: Digest;
}

interface Order {
  target: BuildTarget;
  digest: Digest;
}

interface Entry {
  /** What is to be built; the known result may be a failure that is retried. */
  wanted?: Order;
  /** The build that is under way, for `wanted` or for an order before it. */
  running?: Order & { abort: AbortController };
  known?: Known;
}

/**
 * Builds handlers, outside of any reconcile: one build per handler at a time, and the newest order wins. Functions with
 * one handler share its builds, and a build whose result is known is not done again. A build goes on while sources
 * change that it does not depend on, so that those who work on one source do not delay the builds of another.
 */
export class BuildScheduler {
  readonly #options: BuildSchedulerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #retries = new KeyedBackoff(RETRY);
  readonly #queue: WorkQueue;
  readonly #listeners: Listeners<[handler: string]>;

  constructor(options: BuildSchedulerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      clock: options.clock,
      concurrency: CONCURRENCY,
      work: (handler) => this.#work(handler),
    });
    this.#queue.start();
    this.#listeners = new Listeners((error, [handler]) =>
      options.logger.error({ err: error, handler }, 'a listener for finished builds threw'),
    );
  }

  /** @param callback receives the handler of each build that has ended: call `request` again. @returns how to stop. */
  onFinished(callback: (handler: string) => void): () => void {
    return this.#listeners.add(callback);
  }

  /** The known result; starts a build when there is none. */
  request(target: BuildTarget): BuildState {
    const { handler } = target;
    const order = { target, digest: target.activeTrees.digest };
    const entry = this.#entries.get(handler) ?? {};
    this.#entries.set(handler, entry);
    const known = lookUp(entry.known, order);
    if (entry.wanted?.digest !== order.digest) {
      if (known === undefined) this.#want(entry, order);
      else dropOrder(entry);
    }
    return known ?? { state: 'building', first: entry.known === undefined };
  }

  /** It is the newest order of its handler now. A build that is under way goes on where it may answer this one too. */
  #want(entry: Entry, order: Order): void {
    entry.wanted = order;
    if (mayAnswer(entry.running, order)) return;
    entry.running?.abort.abort();
    this.#queue.add(order.target.handler);
  }

  /** Whether the handler's last result may change when this source does. */
  reaches(handler: string, source: string): boolean {
    const known = this.#entries.get(handler)?.known;
    return known?.state.state !== 'built' || reachedSources(handler, known.inputs).has(source);
  }

  /** No function uses the handler any more. */
  forget(handler: string): void {
    const entry = this.#entries.get(handler);
    this.#entries.delete(handler);
    entry?.running?.abort.abort();
    this.#retries.forget(handler);
  }

  /** Artifacts of successful builds, which must not be collected. */
  revisions(): Digest[] {
    return [...this.#entries.values()].flatMap(({ known }) =>
      known?.state.state === 'built' ? [known.state.revision] : [],
    );
  }

  async stop(): Promise<void> {
    const ended = this.#queue.stop();
    for (const { running } of this.#entries.values()) running?.abort.abort();
    await ended;
  }

  /** Resolves when nothing is being built. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #work(handler: string): Promise<number | undefined> {
    const entry = this.#entries.get(handler);
    if (entry?.wanted === undefined) return undefined;
    const running = { ...entry.wanted, abort: new AbortController() };
    const { signal } = running.abort;
    entry.running = running;
    try {
      const result = await this.#build(running.target, signal);
      signal.throwIfAborted();
      return this.#finish(entry, running, result);
    } catch (error) {
      // Whoever aborted it has already decided what comes next.
      if (signal.aborted) return undefined;
      const retryInMs = this.#retries.failed(handler);
      this.#options.logger.warn({ err: error, handler, retryInMs }, 'a build could not run');
      return retryInMs;
    } finally {
      delete entry.running;
    }
  }

  /** @returns in how many milliseconds the handler is built again; undefined: not before somebody requests it. */
  #finish(entry: Entry, { target, digest }: Order, result: BuildResult): number | undefined {
    const { handler } = target;
    const { inputs } = result;
    const known: Known = { trees: digest, state: stateOf(result), inputs, restsOn: restsOn(target, inputs) };
    // A source that it depends on has changed meanwhile.
    if (entry.wanted !== undefined && lookUp(known, entry.wanted) === undefined) return AT_ONCE_MS;
    entry.known = known;
    // Before the listeners, which request again.
    delete entry.running;
    const again = !result.ok && result.retry === true;
    if (!again) delete entry.wanted;
    if (!again) this.#retries.forget(handler);
    if (this.#entries.get(handler) !== entry) return undefined;
    this.#listeners.notify(handler);
    return again ? this.#retries.failed(handler) : undefined;
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
    // B4: the artifact that is served must match the digest.
    if (sha256(result.artifact) !== result.revision)
      throw new Error('the builder sent an artifact whose digest does not match its revision');
    await content.put(result.artifact);
    signal.throwIfAborted();
    return result;
  }

  /**
   * Builds with the packages that are known for the sources. Where another build resolved different ones first, those
   * are used.
   */
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
    throw new Error('builds of the same source keep resolving different packages');
  }
}

/**
 * The known result, if it is valid for this order too. A failure depends on all trees, because the fix may be anywhere.
 */
function lookUp(known: Known | undefined, { target, digest }: Order): BuildState | undefined {
  if (known === undefined) return undefined;
  const same =
    known.trees === digest || (known.state.state === 'built' && known.restsOn === restsOn(target, known.inputs));
  if (!same) return undefined;
  known.trees = digest;
  return known.state;
}

/**
 * Whether the build may answer the order: its handler's own source is the same. One that is aborted may still be ending,
 * and answers nothing any more.
 */
function mayAnswer(running: Entry['running'], { target }: Order): boolean {
  if (running === undefined || running.abort.signal.aborted) return false;
  const { source } = parseHandler(target.handler);
  const digestIn = ({ activeTrees }: BuildTarget): Digest | undefined => activeTrees.trees.get(source)?.digest;
  return digestIn(running.target) === digestIn(target);
}

/** What is known answers the newest order. */
function dropOrder(entry: Entry): void {
  entry.running?.abort.abort();
  delete entry.wanted;
}

function stateOf(result: BuildResult): Known['state'] {
  if (result.ok) return { state: 'built', revision: result.revision };
  const { reason, message, location } = result;
  if (location === undefined) return { state: 'failed', reason, message };
  const place = `${location.file}:${location.line}:${location.column}`;
  return { state: 'failed', reason, message: message.startsWith(place) ? message : `${place}: ${message}` };
}

/** The metrics of builds. A program has them once, however often it becomes the leader. */
export function createBuildMetrics(metrics: Metrics): BuildMetrics {
  return {
    total: metrics.counter(METRICS.builds),
    duration: metrics.histogram(METRICS.buildDuration),
  };
}

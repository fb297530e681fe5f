import {
  DEFAULT_LOG_BATCH,
  type LogBatching,
  type RouterDown,
  type RouterFunction,
} from '@wherry/core/feed/messages.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { KeyIndex } from '../auth/key-index.ts';
import type { OpenUpstream } from '../balance/balancer.ts';
import { Refusal } from '../refusal.ts';
import { RouteTable } from '../table/route-table.ts';
import { FunctionSeries, exposeRevisions } from './function-series.ts';
import { isOlderVersion } from './is-older-version.ts';
import { failureOf, newActivity, routedFunction, type RoutedFunction } from './routed-function.ts';

type Snapshot = Extract<RouterDown, { type: 'snapshot' }>;
type Change = Extract<RouterDown, { type: 'change' }>;

const METRICS_INTERVAL_SECONDS = Number(SETTINGS['metrics.aggregation-interval-seconds'].default);

/**
 * What the router knows: routes, keys, instances. Each message is applied wholly, between two calls; the state never
 * goes back to an older version within an epoch, and stays active when the feed is lost (R8).
 */
export class RouterState {
  readonly #open: OpenUpstream;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  #table = RouteTable.empty<RoutedFunction>();
  #functions = new Map<string, RoutedFunction>();
  #keys: KeyIndex | undefined;
  #epoch: string | undefined;
  #version = -1;
  #resourceVersion = '0';
  #restores = 0;
  #metricsIntervalSeconds = METRICS_INTERVAL_SECONDS;
  #logBatch = DEFAULT_LOG_BATCH;

  constructor(open: OpenUpstream, logger: Logger, metrics: Metrics) {
    this.#open = open;
    this.#logger = logger;
    this.#metrics = metrics;
    exposeRevisions(metrics, () => this.#functions.values());
  }

  /** Whether there was a snapshot: without one nothing is known, and every call is refused. */
  get ready(): boolean {
    return this.#keys !== undefined;
  }

  get version(): number {
    return this.#version;
  }

  /** The newest state of the store that is applied, whichever operator sent it; "0" before the first. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** How often the store had been restored from a backup by then. */
  get restores(): number {
    return this.#restores;
  }

  /** How often metrics of executions are sent. */
  get metricsIntervalSeconds(): number {
    return this.#metricsIntervalSeconds;
  }

  /** How log entries are sent. */
  get logBatch(): LogBatching {
    return this.#logBatch;
  }

  get table(): RouteTable<RoutedFunction> {
    return this.#table;
  }

  /** Undefined until the state is ready. */
  get keys(): KeyIndex | undefined {
    return this.#keys;
  }

  get functions(): Iterable<RoutedFunction> {
    return this.#functions.values();
  }

  /** Whether it was sent by an operator that lags behind another one: applying it would undo what is active (R8). */
  isOlder(message: RouterDown): boolean {
    if (message.type !== 'snapshot' || message.epoch === this.#epoch) return false;
    const { restores = 0, resourceVersion } = message;
    return (
      restores < this.#restores ||
      (restores === this.#restores && isOlderVersion(resourceVersion, this.#resourceVersion))
    );
  }

  /** @returns whether the message changed the state; an older one does not. @throws RangeError for a bad digest key. */
  apply(message: RouterDown): boolean {
    switch (message.type) {
      case 'heartbeat':
        // Nothing differs, up to there.
        if (message.version === this.#version) this.#resourceVersion = message.resourceVersion;
        return false;
      case 'snapshot':
        return this.#applySnapshot(message);
      case 'change':
        return this.#applyChange(message);
    }
  }

  /** Gives up all connections to instances. */
  async close(): Promise<void> {
    await Promise.all([...this.#functions.values()].map((item) => item.activity.balancer.destroy()));
  }

  #applySnapshot(message: Snapshot): boolean {
    if (message.epoch === this.#epoch && message.version < this.#version) return false;
    if (this.isOlder(message)) return false;
    const keys = new KeyIndex(message.digestKey, message.keys);
    const wanted = new Set(message.functions.map((spec) => spec.id));
    const gone = [...this.#functions.keys()].filter((id) => !wanted.has(id));
    this.#changeFunctions(gone, message.functions);
    this.#keys = keys;
    this.#applySettings(message.settings);
    this.#epoch = message.epoch;
    this.#version = message.version;
    this.#resourceVersion = message.resourceVersion;
    this.#restores = message.restores ?? 0;
    return true;
  }

  #applyChange(message: Change): boolean {
    if (this.#keys === undefined || message.version <= this.#version) return false;
    this.#changeFunctions(message.removedFunctions ?? [], message.functions ?? []);
    for (const digest of message.removedKeys ?? []) this.#keys.delete(digest);
    for (const key of message.keys ?? []) this.#keys.set(key);
    if (message.settings !== undefined) this.#applySettings(message.settings);
    this.#version = message.version;
    this.#resourceVersion = message.resourceVersion;
    return true;
  }

  #applySettings(settings: Snapshot['settings']): void {
    this.#metricsIntervalSeconds = settings.metricsIntervalSeconds ?? METRICS_INTERVAL_SECONDS;
    this.#logBatch = settings.logBatch ?? DEFAULT_LOG_BATCH;
  }

  #changeFunctions(gone: readonly string[], specs: readonly RouterFunction[]): void {
    const removed: RoutedFunction[] = [];
    const added: RoutedFunction[] = [];
    for (const id of gone) {
      const old = this.#functions.get(id);
      if (old === undefined) continue;
      removed.push(old);
      this.#functions.delete(id);
    }
    for (const spec of specs) {
      const old = this.#functions.get(spec.id);
      const next = this.#routed(spec, old);
      if (old !== undefined) removed.push(old);
      if (next === undefined) {
        this.#functions.delete(spec.id);
        continue;
      }
      added.push(next);
      this.#functions.set(spec.id, next);
    }
    this.#table = this.#table.with({ removed, added });
    endWhatIsGone(removed, added);
    for (const { activity, spec } of added) {
      activity.balancer.update(spec.instances, spec.maxConcurrency);
      const failure = failureOf(spec);
      if (failure !== undefined) activity.balancer.refuseWaiters(failure);
    }
  }

  /** A route that cannot be parsed disables that function, and no other. */
  #routed(spec: RouterFunction, old: RoutedFunction | undefined): RoutedFunction | undefined {
    try {
      const series = old?.series.isOf(spec) === true ? old.series : new FunctionSeries(this.#metrics, spec);
      return routedFunction(spec, { activity: old?.activity ?? newActivity(this.#open), series });
    } catch (error) {
      this.#logger.error(
        { function: spec.id, route: spec.route, err: error },
        'the feed sent a route that cannot be parsed',
      );
      return undefined;
    }
  }
}

/**
 * Cleans up what no new version continues: waiting calls of a deleted function, and series with labels that no longer
 * exist.
 */
function endWhatIsGone(removed: readonly RoutedFunction[], added: readonly RoutedFunction[]): void {
  const kept = new Set<object>(added.flatMap(({ activity, series }) => [activity, series]));
  for (const { activity, series } of removed) {
    if (!kept.has(series)) series.remove();
    if (kept.has(activity)) continue;
    activity.balancer.update([], null);
    activity.balancer.refuseWaiters(new Refusal('function_not_found'));
  }
}

import type { RouterFunction } from '@wherry/core/feed/messages.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { SETTINGS, settingValue } from '@wherry/core/settings-definitions.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import type { Caches } from '../informers/caches.ts';
import { routeOf } from '../informers/route-of.ts';
import type { ObservedWorkloads } from '../informers/observed-workloads.ts';
import { groupFace, type KeyRecords } from '../keys/key-records.ts';
import { logSettings } from './log-settings.ts';
import { routerFunction } from './router-function.ts';
import { RouterFeedState, type RouterDifference, type RouterSettings } from './router-feed-state.ts';

export interface RouterViewOptions {
  caches: Caches;
  workloads: Workloads;
  /** What runs of those. */
  observed: ObservedWorkloads;
  keyRecords: KeyRecords;
  /** The Secrets that the key records follow. */
  referencedSecrets: ReferencedSecrets;
  /** With which keys are decrypted. */
  keyRing: Pick<KeyRing, 'onChange'>;
  /** The invocation token of a workload. */
  tokenOf: (workload: string) => string;
  logger: Logger;
}

/** The desired state of the routers, computed from the caches: only what was touched is computed again. */
export class RouterView {
  readonly state: RouterFeedState;
  readonly #options: RouterViewOptions;
  readonly #onTouch: () => void;
  readonly #functions = new Set<string>();
  readonly #keys = new Set<string>();
  readonly #groupFaces = new Map<string, string>();
  #settings = false;
  readonly #keyHolderListeners: Listeners<[names: string[]]>;
  readonly #stopWatching: () => void;

  /** @param onTouch called when something may have changed: call `refresh` soon. */
  constructor(options: RouterViewOptions, onTouch: () => void) {
    const { caches } = options;
    this.#options = options;
    this.#onTouch = onTouch;
    this.state = new RouterFeedState(settingsOf(caches));
    this.#keyHolderListeners = new Listeners((error, [keys]) =>
      options.logger.error({ err: error, keys }, 'a listener for the holders of values threw'),
    );
    this.#stopWatching = options.workloads.watch((_name, functionName) => this.#touchFunction(functionName));
    caches.functions.onChange((name) => this.#touchFunction(name));
    caches.functionsByShape.onChange((_name, before, after) => {
      for (const shape of new Set([...before, ...after]))
        for (const rival of caches.functionsByShape.names(shape)) this.#touchFunction(rival);
    });
    caches.keys.onChange((name) => this.#touchKeys([name]));
    options.referencedSecrets.onChange((secret) => this.#touchKeys(caches.keysByReference.names(secret)));
    options.keyRing.onChange(() => this.#touchKeys(this.#unreadKeys()));
    caches.groups.onChange((name, group) => {
      const face = groupFace(group);
      if (this.#groupFaces.get(name) === face) return;
      if (face === undefined) this.#groupFaces.delete(name);
      else this.#groupFaces.set(name, face);
      this.#touchKeys(caches.keysByGroup.names(name));
    });
    caches.settings.onChange(() => {
      this.#settings = true;
      onTouch();
    });
  }

  #unreadKeys(): string[] {
    const names = this.#options.caches.keys.list().map(({ metadata }) => metadata.name);
    return names.filter((name) => this.state.holderFor(name) === undefined);
  }

  /** What runs is not followed any more. */
  stop(): void {
    this.#stopWatching();
  }

  isTouched(functionName: string): boolean {
    return this.#functions.has(functionName);
  }

  /** @returns what has changed since the last time, if anything, and the functions that were computed again. */
  refresh(): { difference: RouterDifference | undefined; looked: string[] } {
    const looked = [...this.#functions];
    for (const name of this.#functions) this.state.setFunction(name, this.#functionRecord(name));
    this.#refreshKeys();
    if (this.#settings) this.state.setSettings(settingsOf(this.#options.caches));
    this.#functions.clear();
    this.#settings = false;
    return { difference: this.state.takeDifference(), looked };
  }

  /** Which ApiKey has the value of this one, by the newest state of the caches; undefined where routers accept none. */
  keyHolder(name: string): string | undefined {
    this.#refreshKeys();
    return this.state.holderFor(name);
  }

  /** @param callback receives the keys whose `keyHolder` has changed by a change of another key. @returns how to stop. */
  onKeyHolder(callback: (names: string[]) => void): () => void {
    return this.#keyHolderListeners.add(callback);
  }

  #refreshKeys(): void {
    const { caches, keyRecords } = this.#options;
    const affected: string[] = [];
    for (const name of this.#keys) {
      const records = keyRecords.of(name);
      // A key that is gone has no records, and claims nothing.
      const metadata = caches.keys.get(name)?.metadata ?? { name, creationTimestamp: '' };
      affected.push(...this.state.setKey(name, { records, metadata }));
    }
    this.#keys.clear();
    if (affected.length > 0) this.#keyHolderListeners.notify(affected);
  }

  /** The function's object, or what runs of it, may have changed. */
  #touchFunction(name: string): void {
    this.#functions.add(name);
    this.#onTouch();
  }

  #touchKeys(names: Iterable<string>): void {
    for (const name of names) this.#keys.add(name);
    this.#onTouch();
  }

  #functionRecord(name: string): RouterFunction | undefined {
    const { caches, observed, tokenOf } = this.#options;
    const fn = caches.functions.get(name);
    return (
      fn &&
      routerFunction({ fn, workloads: observed.of(name), hasRoute: routeOf(caches, fn)?.accepted === true, tokenOf })
    );
  }
}

const METRICS_INTERVAL = 'metrics.aggregation-interval-seconds';

function settingsOf({ settings }: Caches): RouterSettings {
  const object = settings.get(SETTINGS_NAME);
  const interval = settingValue(object?.spec.values, METRICS_INTERVAL);
  if (interval === SETTINGS[METRICS_INTERVAL].default) return logSettings(object);
  return { ...logSettings(object), metricsIntervalSeconds: Number(interval) };
}

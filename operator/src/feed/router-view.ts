import type { RouterFunction } from '@wherry/core/feed/messages.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import { SETTINGS_NAME } from '@wherry/core/resources/settings.ts';
import { settingValue } from '@wherry/core/settings-definitions.ts';
import type { Caches } from '../caches/caches.ts';
import { routeOf } from '../caches/route-of.ts';
import type { ObservedWorkloads } from '../caches/observed-workloads.ts';
import { groupFace, type KeyRecords } from '../keys/key-records.ts';
import { routerFunction } from './router-function.ts';
import { RouterFeedState, type RouterDifference } from './router-feed-state.ts';

export interface RouterViewOptions {
  caches: Caches;
  observed: ObservedWorkloads;
  keyRecords: KeyRecords;
  /** Those that the key records follow. */
  referencedSecrets: ReferencedSecrets;
  /** The invocation token of a workload. */
  tokenOf: (workload: string) => string;
}

/** The desired state of the routers, computed from the caches: only what was touched is looked at again. */
export class RouterView {
  readonly state: RouterFeedState;
  readonly #options: RouterViewOptions;
  readonly #onTouch: () => void;
  readonly #functions = new Set<string>();
  readonly #keys = new Set<string>();
  readonly #groupFaces = new Map<string, string>();
  #settings = false;

  /** @param onTouch something may have changed: call `refresh` soon. */
  constructor(options: RouterViewOptions, onTouch: () => void) {
    const { caches } = options;
    this.#options = options;
    this.#onTouch = onTouch;
    this.state = new RouterFeedState(settingsOf(caches));
    caches.functions.onChange((name) => this.touchFunction(name));
    caches.functionsByShape.onChange((_name, before, after) => {
      for (const shape of new Set([...before, ...after]))
        for (const rival of caches.functionsByShape.names(shape)) this.touchFunction(rival);
    });
    caches.keys.onChange((name) => this.#touchKeys([name]));
    options.referencedSecrets.onChange((secret) => this.#touchKeys(caches.keysByReference.names(secret)));
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

  /** The function's object, or what runs of it, may have changed. */
  touchFunction(name: string): void {
    this.#functions.add(name);
    this.#onTouch();
  }

  isTouched(functionName: string): boolean {
    return this.#functions.has(functionName);
  }

  /** @returns what differs since the last time, if anything, and the functions that were looked at. */
  refresh(): { difference: RouterDifference | undefined; looked: string[] } {
    const looked = [...this.#functions];
    for (const name of this.#functions) this.state.setFunction(name, this.#functionRecord(name));
    for (const name of this.#keys) this.state.setKey(name, this.#options.keyRecords.of(name));
    if (this.#settings) this.state.setSettings(settingsOf(this.#options.caches));
    this.#functions.clear();
    this.#keys.clear();
    this.#settings = false;
    return { difference: this.state.takeDifference(), looked };
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

function settingsOf({ settings }: Caches): { logLevel: string } {
  return { logLevel: settingValue(settings.get(SETTINGS_NAME)?.spec.values, 'log.level') };
}

import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';

const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 10_000;

type ChangeCallback<K extends Kind> = (name: string, object: Resource<K> | undefined) => void;

export interface InformerOptions<K extends Kind> {
  store: ResourceStore;
  kind: K;
  clock: Clock;
  logger: Logger;
}

/**
 * A cache of all objects of one kind, kept current by list and watch. It survives every error of either: it lists again
 * with backoff, and tells the differences as changes. Objects of the cache are shared: do not change them.
 */
export interface Informer<K extends Kind> {
  /** Resolves once the cache holds a first list; keeps trying until then. */
  start(): Promise<void>;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
  get(name: string): Resource<K> | undefined;
  list(): Resource<K>[];
  /** The newest state that the cache reflects; "0" before the first list. */
  resourceVersion(): string;
  /** Calls back after each change of the cache, `undefined` for an object that is gone. Returns how to stop. */
  onChange(callback: ChangeCallback<K>): () => void;
}

export function createInformer<K extends Kind>(options: InformerOptions<K>): Informer<K> {
  return new StoreInformer(options);
}

class StoreInformer<K extends Kind> implements Informer<K> {
  readonly #options: InformerOptions<K>;
  readonly #logger: Logger;
  readonly #cache = new Map<string, Resource<K>>();
  readonly #callbacks = new Set<ChangeCallback<K>>();
  readonly #synced = Promise.withResolvers<undefined>();
  readonly #stopping = new AbortController();
  #version = '0';
  #backoff = FIRST_BACKOFF_MS;
  #running: Promise<void> | undefined;

  constructor(options: InformerOptions<K>) {
    this.#options = options;
    this.#logger = options.logger.child({ informer: options.kind });
  }

  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#synced.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    // Whoever still waits for a first list waits in vain.
    this.#synced.resolve(undefined);
  }

  get(name: string): Resource<K> | undefined {
    return this.#cache.get(name);
  }

  list(): Resource<K>[] {
    return [...this.#cache.values()];
  }

  resourceVersion(): string {
    return this.#version;
  }

  onChange(callback: ChangeCallback<K>): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#listAndWatch();
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn({ err: error, retryInMs: this.#backoff }, 'list or watch failed');
      }
      await clock.sleep(this.#backoff * (0.5 + Math.random() / 2), signal).catch(() => undefined);
      this.#backoff = Math.min(this.#backoff * 2, LAST_BACKOFF_MS);
    }
  }

  async #listAndWatch(): Promise<void> {
    const { store, kind } = this.#options;
    this.#replaceAll(await store.list(kind));
    const watch = store.watch(kind, { resourceVersion: this.#version, signal: this.#stopping.signal });
    for await (const event of watch) this.#apply(event);
  }

  #replaceAll(list: { items: Resource<K>[]; resourceVersion: string }): void {
    const present = new Set(list.items.map((item) => item.metadata.name));
    this.#version = list.resourceVersion;
    for (const name of [...this.#cache.keys()]) if (!present.has(name)) this.#set(name, undefined);
    for (const item of list.items) {
      if (!sameState(this.#cache.get(item.metadata.name), item)) this.#set(item.metadata.name, item);
    }
    this.#synced.resolve(undefined);
  }

  #apply(event: WatchEvent<K>): void {
    // A watch that brings something works: the next fault starts with a short wait again.
    this.#backoff = FIRST_BACKOFF_MS;
    if (event.type === 'bookmark') {
      this.#version = event.resourceVersion;
      return;
    }
    this.#version = event.object.metadata.resourceVersion;
    this.#set(event.object.metadata.name, event.type === 'deleted' ? undefined : event.object);
  }

  #set(name: string, object: Resource<K> | undefined): void {
    if (object === undefined) this.#cache.delete(name);
    else this.#cache.set(name, object);
    for (const callback of this.#callbacks) {
      try {
        callback(name, object);
      } catch (error) {
        // One handler's fault must not end the watch for all others.
        this.#logger.error({ err: error, object: name }, 'a change handler threw');
      }
    }
  }
}

function sameState(a: Resource | undefined, b: Resource): boolean {
  return a?.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

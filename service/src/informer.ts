import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';

const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 10_000;

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
  onChange(callback: (name: string, object: Resource<K> | undefined) => void): () => void;
}

export function createInformer<K extends Kind>(options: InformerOptions<K>): Informer<K> {
  const { store, kind, clock } = options;
  const logger = options.logger.child({ informer: kind });
  const cache = new Map<string, Resource<K>>();
  const callbacks = new Set<(name: string, object: Resource<K> | undefined) => void>();
  const synced = Promise.withResolvers<undefined>();
  const stopping = new AbortController();
  let version = '0';
  let backoff = FIRST_BACKOFF_MS;
  let running: Promise<void> | undefined;

  function tell(name: string, object: Resource<K> | undefined): void {
    if (object === undefined) cache.delete(name);
    else cache.set(name, object);
    for (const callback of callbacks) {
      try {
        callback(name, object);
      } catch (error) {
        // One handler's fault must not end the watch for all others.
        logger.error({ err: error, object: name }, 'a change handler threw');
      }
    }
  }

  async function relist(): Promise<void> {
    const list = await store.list(kind);
    const present = new Set(list.items.map((item) => item.metadata.name));
    version = list.resourceVersion;
    for (const name of [...cache.keys()]) if (!present.has(name)) tell(name, undefined);
    for (const item of list.items) {
      if (!sameObject(cache.get(item.metadata.name), item)) tell(item.metadata.name, item);
    }
    synced.resolve(undefined);
  }

  function apply(event: WatchEvent<K>): void {
    backoff = FIRST_BACKOFF_MS;
    if (event.type === 'bookmark') {
      version = event.resourceVersion;
      return;
    }
    version = event.object.metadata.resourceVersion;
    tell(event.object.metadata.name, event.type === 'deleted' ? undefined : event.object);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await relist();
        for await (const event of store.watch(kind, { resourceVersion: version, signal: stopping.signal })) apply(event);
      } catch (error) {
        if (stopping.signal.aborted) return;
        logger.warn({ err: error, retryInMs: backoff }, 'list or watch failed');
      }
      await clock.sleep(backoff * (0.5 + Math.random() / 2), stopping.signal).catch(() => undefined);
      backoff = Math.min(backoff * 2, LAST_BACKOFF_MS);
    }
  }

  return {
    start() {
      running ??= run();
      return synced.promise;
    },
    async stop() {
      stopping.abort();
      await running;
      // Whoever still waits for a first list waits in vain.
      synced.resolve(undefined);
    },
    get: (name) => cache.get(name),
    list: () => [...cache.values()],
    resourceVersion: () => version,
    onChange(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}

function sameObject(a: Resource | undefined, b: Resource): boolean {
  return a?.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

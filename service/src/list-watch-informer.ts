import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from './backoff.ts';
import { Listeners } from './listeners.ts';

/** While no list succeeds, the server is not available: pending changes wait only a little longer than the outage. */
const LIST_RETRY = { firstMs: 100, lastMs: 2000 };
/** A watch that has lasted ten seconds works: the next failure starts with a short wait again. */
const WATCH_RETRY = { firstMs: 100, lastMs: 10_000, healthyMs: 10_000 };
/** How long `reach` waits for the watch before it lists everything again. */
const REACH_PATIENCE_MS = 500;

/** What distinguishes objects, and states of one object. */
export interface Identified {
  metadata: { name: string; uid: string; resourceVersion: string };
}

export type ListWatchEvent<T extends Identified> =
  | { type: 'added' | 'modified'; object: T }
  | { type: 'deleted'; object: Identified }
  | { type: 'bookmark'; resourceVersion: string };

/** Where the objects come from. Both may reject at any time; a watch ends when its signal aborts. */
interface ListWatchSource<T extends Identified> {
  /** The newest state. */
  list(signal: AbortSignal): Promise<{ items: T[]; resourceVersion: string }>;
  /** Every change after the resourceVersion; what ends it is followed by a new list. */
  watch(options: { resourceVersion: string; signal: AbortSignal }): AsyncIterable<ListWatchEvent<T>>;
}

interface ListWatchInformerOptions<T extends Identified> {
  source: ListWatchSource<T>;
  /** In its log lines. */
  name: string;
  clock: Clock;
  logger: Logger;
}

interface Waiter {
  /** Undefined: only a list is enough. */
  target: bigint | undefined;
  /** The lists that had begun when it came: a later one is enough. */
  lists: number;
  resolve: () => void;
}

/**
 * A cache of all objects of a source, kept current by list and watch. It survives every error: it lists again with
 * backoff, and reports the differences as changes. The cached objects are shared: do not change them.
 */
export class ListWatchInformer<T extends Identified> {
  readonly #source: ListWatchSource<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #cache = new Map<string, T>();
  readonly #listeners: Listeners<[name: string, object: T | undefined]>;
  readonly #waiters = new Set<Waiter>();
  readonly #synced = Promise.withResolvers<undefined>();
  readonly #stopping = new AbortController();
  #version = '0';
  readonly #listRetries = new Backoff(LIST_RETRY);
  readonly #watchRetries = new Backoff(WATCH_RETRY);
  #lists = 0;
  /** Whether the last attempt to list succeeded. */
  #hasListed = false;
  /** Somebody wants a list that is newer than the last one. */
  #relist = false;
  #watching = new AbortController();
  #running: Promise<void> | undefined;

  constructor({ source, name, clock, logger }: ListWatchInformerOptions<T>) {
    this.#source = source;
    this.#clock = clock;
    this.#logger = logger.child({ informer: name });
    this.#listeners = new Listeners((error, [object]) =>
      this.#logger.error({ err: error, object }, 'a change handler threw'),
    );
  }

  /** Resolves once the cache holds a first list; keeps trying until then. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#synced.promise;
  }

  /** Resolves when it has stopped completely. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#watching.abort();
    await this.#running;
    // Nobody who still waits for a list will get one.
    this.#synced.resolve(undefined);
    for (const waiter of this.#waiters) waiter.resolve();
  }

  get(name: string): T | undefined {
    return this.#cache.get(name);
  }

  list(): T[] {
    return [...this.#cache.values()];
  }

  /** The newest state that the cache reflects; "0" before the first list. */
  resourceVersion(): string {
    return this.#version;
  }

  /**
   * Resolves when the cache reflects that state or a newer one. A watch that lags gets half a second; then everything
   * is listed again, and that list is the newest state and suffices. Waits as long as no list succeeds.
   */
  async reach(resourceVersion: string): Promise<void> {
    const target = BigInt(resourceVersion);
    if (BigInt(this.#version) >= target) return;
    await this.#wait(target, REACH_PATIENCE_MS);
  }

  /**
   * Resolves when the cache reflects a list that began after this: the newest state, even where that is an older one.
   */
  relist(): Promise<void> {
    return this.#wait(undefined, 0);
  }

  async #wait(target: bigint | undefined, patienceMs: number): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { target, lists: this.#lists, resolve };
    this.#waiters.add(waiter);
    const cancel = this.#clock.after(patienceMs, () => {
      if (this.#lists > waiter.lists) return;
      this.#relist = true;
      this.#watching.abort();
    });
    await promise;
    cancel();
    this.#waiters.delete(waiter);
  }

  /** Calls back after each change of the cache, `undefined` for an object that is gone. Returns how to stop. */
  onChange(callback: (name: string, object: T | undefined) => void): () => void {
    return this.#listeners.add(callback);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const began = this.#clock.monotonic();
      this.#hasListed = false;
      try {
        await this.#listAndWatch();
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn({ err: error }, 'list or watch failed; trying again');
      }
      const retryInMs = this.#hasListed
        ? this.#watchRetries.failed(this.#clock.monotonic() - began)
        : this.#listRetries.failed();
      await this.#clock.sleep(retryInMs, signal).catch(() => undefined);
    }
  }

  /** Returns when the watch ends by itself; one that `reach` cuts is followed by a new list at once. */
  async #listAndWatch(): Promise<void> {
    const { signal } = this.#stopping;
    do {
      this.#relist = false;
      this.#watching = new AbortController();
      this.#lists += 1;
      this.#replaceAll(await untilAborted(this.#source.list(signal), signal));
      this.#hasListed = true;
      this.#listRetries.reset();
      if (this.#relist) continue;
      const watch = this.#source.watch({ resourceVersion: this.#version, signal: this.#watching.signal });
      for await (const event of watch) this.#apply(event);
    } while (this.#relist && !signal.aborted);
  }

  #replaceAll(list: { items: T[]; resourceVersion: string }): void {
    if (this.#stopping.signal.aborted) return;
    const present = new Set(list.items.map((item) => item.metadata.name));
    this.#moveTo(list.resourceVersion, this.#lists);
    for (const name of [...this.#cache.keys()]) if (!present.has(name)) this.#set(name, undefined);
    for (const item of list.items) {
      if (!sameState(this.#cache.get(item.metadata.name), item)) this.#set(item.metadata.name, item);
    }
    this.#synced.resolve(undefined);
  }

  #apply(event: ListWatchEvent<T>): void {
    if (event.type === 'bookmark') {
      this.#moveTo(event.resourceVersion);
      return;
    }
    this.#moveTo(event.object.metadata.resourceVersion);
    this.#set(event.object.metadata.name, event.type === 'deleted' ? undefined : event.object);
  }

  /**
   * Callbacks see the new version first; whoever awaits it continues after them, because promises resolve later.
   * @param list the number of the list that brought it there, if one did
   */
  #moveTo(resourceVersion: string, list = 0): void {
    this.#version = resourceVersion;
    const version = this.#waiters.size === 0 ? 0n : BigInt(resourceVersion);
    for (const waiter of this.#waiters)
      if ((waiter.target !== undefined && version >= waiter.target) || list > waiter.lists) waiter.resolve();
  }

  #set(name: string, object: T | undefined): void {
    if (object === undefined) this.#cache.delete(name);
    else this.#cache.set(name, object);
    this.#listeners.notify(name, object);
  }
}

/** The promise, or a rejection as soon as the signal aborts. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new Error('stopped'));
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function sameState(a: Identified | undefined, b: Identified): boolean {
  return a?.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

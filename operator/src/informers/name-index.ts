import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import type { Informer } from '@wherry/service/informer.ts';
import { Listeners } from '@wherry/service/listeners.ts';

/** Names of objects by something in them, kept current with an informer's cache. */
export interface NameIndex {
  names(key: string): ReadonlySet<string>;
  keys(): Iterable<string>;
  /** Calls back after each change of an object, with its keys before and after. Returns how to stop. */
  onChange(callback: (name: string, before: readonly string[], after: readonly string[]) => void): () => void;
}

const NONE: ReadonlySet<string> = new Set();

/** @param keysOf pure; must not throw. Create the index before the informer starts. */
export function createNameIndex<K extends Kind>(
  informer: Informer<K>,
  keysOf: (object: Resource<K>) => readonly string[],
  logger: Logger,
): NameIndex {
  const names = new Map<string, Set<string>>();
  const keys = new Map<string, readonly string[]>();
  const listeners = new Listeners<[name: string, before: readonly string[], after: readonly string[]]>(
    (error, [name]) => logger.error({ err: error, object: name }, 'a change handler threw'),
  );

  informer.onChange((name, object) => {
    const before = keys.get(name) ?? [];
    const after = object === undefined ? [] : keysOf(object);
    for (const key of before) drop(key, name);
    for (const key of after) hold(key, name);
    if (object === undefined) keys.delete(name);
    else keys.set(name, after);
    listeners.notify(name, before, after);
  });

  function drop(key: string, name: string): void {
    const set = names.get(key);
    set?.delete(name);
    if (set?.size === 0) names.delete(key);
  }

  function hold(key: string, name: string): void {
    const set = names.get(key);
    if (set === undefined) names.set(key, new Set([name]));
    else set.add(name);
  }

  return {
    names: (key) => names.get(key) ?? NONE,
    keys: () => names.keys(),
    onChange: (callback) => listeners.add(callback),
  };
}

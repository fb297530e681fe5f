import type { NameIndex } from './name-index.ts';

/**
 * Calls back with every object of a key that has another holder than before: one change of many rivals reconciles none
 * of the others. Returns how to stop.
 * @param holderOf which of the objects has the key, by name
 */
export function onHolderChange(
  index: NameIndex,
  holderOf: (key: string) => string | undefined,
  callback: (name: string) => void,
): () => void {
  const holders = new Map<string, string>();
  return index.onChange((_name, before, after) => {
    for (const key of new Set([...before, ...after])) {
      const holder = holderOf(key);
      if (holder === holders.get(key)) continue;
      if (holder === undefined) holders.delete(key);
      else holders.set(key, holder);
      index.names(key).forEach(callback);
    }
  });
}

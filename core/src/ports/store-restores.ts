/**
 * How often the store went back to an older state, which only a restore from a backup does. resourceVersions compare
 * within one count: a state of a higher one is newer, whatever its resourceVersion.
 */
export interface StoreRestores {
  /** What the replicas have agreed on; undefined before it is known. */
  current(): number | undefined;
  /** Calls back when it becomes known, and when it changes. Returns how to stop. */
  onChange(callback: (count: number) => void): () => void;
  /** A router has seen this many restores. If the store records fewer, another restore has lost the others. */
  claim(count: number): void;
  /** A consistent read of the store returned a state older than one that was seen at this count. */
  wentBack(count: number): void;
}

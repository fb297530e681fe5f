const INTEGER = /^\d+$/;

/**
 * Whether a resourceVersion is older than another one. They compare as integers, longer ones than a double holds; those
 * of a store that counts in some other way are not known to be older.
 */
export function isOlderVersion(version: string, than: string): boolean {
  return INTEGER.test(version) && INTEGER.test(than) && BigInt(version) < BigInt(than);
}

const INTEGER = /^\d+$/;

/**
 * Whether a resourceVersion is older than another one. They compare as integers, which may be larger than a double can
 * represent; those of a store that counts in another way are not considered older.
 */
export function isOlderVersion(version: string, than: string): boolean {
  return INTEGER.test(version) && INTEGER.test(than) && BigInt(version) < BigInt(than);
}

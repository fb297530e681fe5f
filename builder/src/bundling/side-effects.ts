import { matchesGlob } from 'node:path';

/**
 * Whether a file must be kept though nothing of it is used, as its package.json's `sideEffects` says: `false`, or the
 * patterns of those files that have some.
 * @param file path in the package.
 */
export function sideEffectsOf(file: string, declared: unknown): boolean {
  if (declared === false) return false;
  if (!Array.isArray(declared)) return true;
  return declared.some((pattern) => typeof pattern === 'string' && matchesPattern(file, pattern.replace(/^\.?\//, '')));
}

/** A pattern without a slash is about files in any folder. */
function matchesPattern(file: string, pattern: string): boolean {
  return file === pattern || matchesGlob(file, pattern.includes('/') ? pattern : `**/${pattern}`);
}

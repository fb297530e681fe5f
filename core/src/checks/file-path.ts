/** Longest path of a file in a source, in bytes of UTF-8. */
export const MAX_PATH_BYTES = 1024;

/**
 * Checks a path of a file in a source (F1), after its one decode.
 * @returns what is wrong, undefined when nothing is.
 */
export function filePathProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `must be at most ${MAX_PATH_BYTES} bytes`;
  if (!path.isWellFormed()) return 'must be well-formed Unicode';
  if (/[\0-\x1f\x7f]/.test(path)) return 'must not hold control characters';
  if (path.includes('\\')) return 'must not hold a backslash';
  if (path.startsWith('/')) return 'must not be absolute';
  if (/^[a-zA-Z]:/.test(path)) return 'must not begin with a drive letter';
  const segments = path.split('/');
  if (segments.includes('')) return 'must not hold an empty segment';
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'must not hold . or .. segments';
  if (segments.some((segment) => segment.toLowerCase() === '.git')) return 'must not lie under .git/';
  return undefined;
}

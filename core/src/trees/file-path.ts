import { deceptiveCharacters } from '../deceptive-characters.ts';

/** Longest path of a file in a source, in bytes of UTF-8. */
export const MAX_PATH_BYTES = 1024;

/** What a path must not be or hold, and the sentence's end that says so. */
const RULES: [broken: (path: string) => boolean, problem: string][] = [
  [(path) => path === '', 'must not be empty'],
  [(path) => Buffer.byteLength(path) > MAX_PATH_BYTES, `must have at most ${MAX_PATH_BYTES} bytes`],
  [(path) => !path.isWellFormed(), 'must be well-formed Unicode'],
  [(path) => path.includes('\\'), 'must not contain a backslash'],
  [(path) => path.startsWith('/'), 'must not be absolute'],
  [(path) => /^[a-zA-Z]:/.test(path), 'must not begin with a drive letter'],
  [(path) => path.split('/').includes(''), 'must not contain an empty segment'],
  [
    (path) => path.split('/').some((segment) => segment === '.' || segment === '..'),
    'must not contain . or .. segments',
  ],
  [(path) => path.split('/').some((segment) => segment.toLowerCase() === '.git'), 'must not be under .git/'],
];

/**
 * Checks a path of a file in a source (F1), after its one decode.
 * @returns what is wrong, undefined when nothing is.
 */
export function filePathProblem(path: string): string | undefined {
  return RULES.find(([broken]) => broken(path))?.[1] ?? deceptiveCharacters(path);
}

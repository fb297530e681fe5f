import fc from 'fast-check';
import { filePathProblem } from './file-path.ts';

const GIT = ['.git', '.giT', '.gIt', '.gIT', '.Git', '.GiT', '.GIt', '.GIT'];
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

function isGoodCharacter(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code >= 32 && code !== 127 && character !== '\\' && (code < 0xd800 || code > 0xdfff);
}

/** The rule of F1 once more, as plainly as it can be written. */
function isGoodPath(path: string): boolean {
  for (const character of path) if (!isGoodCharacter(character)) return false;
  for (const segment of path.split('/')) if (['', '.', '..', ...GIT].includes(segment)) return false;
  if (path.charAt(1) === ':' && LETTERS.includes(path.charAt(0))) return false;
  return new TextEncoder().encode(path).length <= 1024;
}

const piece = fc.constantFrom(
  '',
  'a',
  'b.ts',
  '.',
  '..',
  '...',
  '.git',
  '.GIT',
  '.gitignore',
  'x.git',
  '\0',
  '\\',
  'C:',
  'c:',
  '1:',
  ' ',
  '\n',
  '\x7f',
  'ä',
  '\ud800',
  '💾',
  '%2e%2e',
  '~',
);
const path = fc.oneof(
  fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('/')),
  fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

describe('F1: the path of a file', () => {
  it('is taken or refused as the plain rule says', () => {
    fc.assert(
      fc.property(path, (text) => (filePathProblem(text) === undefined) === isGoodPath(text)),
      { numRuns: 5000 },
    );
  });

  it('never leads out of the folder that it is in', () => {
    const resolves = (text: string): boolean =>
      new URL(`file:///source/${encodeURI(text)}`).pathname.startsWith('/source/');
    fc.assert(
      fc.property(
        path.filter((text) => filePathProblem(text) === undefined),
        resolves,
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['', 'must not be empty'],
    ['../etc/passwd', 'must not hold . or .. segments'],
    ['a/../../b', 'must not hold . or .. segments'],
    ['./a', 'must not hold . or .. segments'],
    ['/etc/passwd', 'must not be absolute'],
    ['C:/a', 'must not begin with a drive letter'],
    ['C:a', 'must not begin with a drive letter'],
    ['a\0b', 'must not hold control characters'],
    ['a\nb', 'must not hold control characters'],
    ['a\\b', 'must not hold a backslash'],
    ['a//b', 'must not hold an empty segment'],
    ['a/', 'must not hold an empty segment'],
    ['.git/config', 'must not lie under .git/'],
    ['a/.GIT/config', 'must not lie under .git/'],
    ['\ud800', 'must be well-formed Unicode'],
    ['a'.repeat(1025), 'must be at most 1024 bytes'],
    ['ä'.repeat(513), 'must be at most 1024 bytes'],
  ])('%j: %s', (text, problem) => {
    expect(filePathProblem(text)).toBe(problem);
  });

  it.each([
    'a.ts',
    'a/b/c.ts',
    '.gitignore',
    'a.git',
    '..a',
    'a..',
    'ä ö.ts',
    'ab:c',
    'a'.repeat(1024),
    'ä'.repeat(512),
    '%2e%2e/a',
  ])('%j is good', (text) => {
    expect(filePathProblem(text)).toBeUndefined();
  });
});

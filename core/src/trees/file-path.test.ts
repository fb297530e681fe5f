import { fc } from '@wherry/testing/properties.ts';
import { filePathProblem } from './file-path.ts';

const GIT = ['.git', '.giT', '.gIt', '.gIT', '.Git', '.GiT', '.GIt', '.GIT'];
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** What Unicode calls Bidi_Control. */
const BIDI = [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];

function isGoodCharacter(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code < 32 || (code >= 127 && code < 160) || BIDI.includes(code)) return false;
  return character !== '\\' && (code < 0xd800 || code > 0xdfff);
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
  '\x85',
  '\u202e',
  '\u2066',
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
    ['../etc/passwd', 'must not contain . or .. segments'],
    ['a/../../b', 'must not contain . or .. segments'],
    ['./a', 'must not contain . or .. segments'],
    ['/etc/passwd', 'must not be absolute'],
    ['C:/a', 'must not begin with a drive letter'],
    ['C:a', 'must not begin with a drive letter'],
    ['a\0b', 'must not contain control characters'],
    ['a\nb', 'must not contain control characters'],
    ['a\x7fb', 'must not contain control characters'],
    ['a\x9b2Jb', 'must not contain control characters'],
    ['a\u202egnp.ts', 'must not contain characters that change the direction of text'],
    ['a\u2067b', 'must not contain characters that change the direction of text'],
    ['a\u200fb', 'must not contain characters that change the direction of text'],
    ['a\\b', 'must not contain a backslash'],
    ['a//b', 'must not contain an empty segment'],
    ['a/', 'must not contain an empty segment'],
    ['.git/config', 'must not be under .git/'],
    ['a/.GIT/config', 'must not be under .git/'],
    ['\ud800', 'must be well-formed Unicode'],
    ['a'.repeat(1025), 'must have at most 1024 bytes'],
    ['ä'.repeat(513), 'must have at most 1024 bytes'],
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
    'שלום/\u00a0.ts',
    'ab:c',
    'a'.repeat(1024),
    'ä'.repeat(512),
    '%2e%2e/a',
  ])('%j is good', (text) => {
    expect(filePathProblem(text)).toBeUndefined();
  });
});

/** How the types that zod names are called in a sentence. */
const NOUNS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
  date: 'a date',
};

const COMPARISONS: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'more than',
  '<': 'less than',
};

/**
 * An issue's message as the rest of a sentence about the field: "must be a number, not a string". zod's own messages
 * are reworded; those that our schemas give are returned as they are.
 */
export function issueMessage(message: string): string {
  const [, expected, received] = /^Invalid input: expected (\S+), received (\S+)$/.exec(message) ?? [];
  if (expected !== undefined && received !== undefined) return typeMessage(expected, received);
  const [, verb, comparison, limit] = /^Too (?:small|big): expected .+? to (have|be) ([<>]=?)(.+)$/.exec(message) ?? [];
  if (verb !== undefined) return limitMessage(verb, COMPARISONS[comparison ?? ''] ?? '', limit ?? '');
  return message
    .replace(/^Invalid input: expected (.+)$/, 'must be $1')
    .replace(/^Invalid option: expected one of (.+)$/, (_, options: string) => oneOf(options))
    .replace(/^Invalid input$/, 'is not valid')
    .replace(/^Invalid string: (must .+)$/, '$1')
    .replace(/^Invalid ISO datetime$/, 'must be a time such as 2026-01-31T12:00:00Z')
    .replace(/^Invalid (?=[aeio])/i, 'is not an ')
    .replace(/^Invalid /, 'is not a ');
}

function typeMessage(expected: string, received: string): string {
  if (received === 'undefined') return 'is required';
  if (expected === 'int') return 'must be a whole number';
  return `must be ${noun(expected)}, not ${noun(received)}`;
}

/** @param limit a number, of a length with its unit: "3 characters". */
function limitMessage(verb: string, comparison: string, limit: string): string {
  if (comparison === 'at least' && /^1 \w+$/.test(limit)) return 'must not be empty';
  return `must ${verb} ${comparison} ${limit.replace(/^(1 \w+)s$/, '$1')}`;
}

const noun = (type: string): string => NOUNS[type] ?? type;

const oneOf = (options: string): string => `must be one of ${options.split('|').join(', ')}`;

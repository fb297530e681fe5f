/**
 * What code checks, as keywords of JSON Schema for the OpenAPI document: there a client reads it before it sends
 * anything. Tests compare each with the code. None has a look-ahead, which not every regular expression has; `not`
 * says the same.
 */
type TextKeywords = {
  pattern: string;
  not?: { pattern: string };
};

/** The `params` of a refinement that also hold its rule for the document. */
export function inDocument(keywords: Readonly<Record<string, unknown>>): { document: typeof keywords } {
  return { document: keywords };
}

// Control characters, and those that change the direction of text.
const DECEPTIVE = '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';

/** `deceptiveCharacters`, and a character that is not white space. */
export const PLAIN_NAME: TextKeywords = { pattern: `^[^${DECEPTIVE}]*[^\\s${DECEPTIVE}][^${DECEPTIVE}]*$` };

/** `filePathProblem`, except that its limit is in bytes. */
export const FILE_PATH: TextKeywords = {
  pattern: `^[^/\\\\${DECEPTIVE}]+(/[^/\\\\${DECEPTIVE}]+)*$`,
  not: { pattern: '^[a-zA-Z]:|(^|/)([.]{1,2}|[.][gG][iI][tT])(/|$)' },
};

const SOURCE_NAME = '[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}';

/** `handlerSchema` behind an optional `code/`. */
export const HANDLER: TextKeywords = {
  pattern: `^(code/)?${SOURCE_NAME}(/[^/\\\\\\u0000]+)+$`,
  not: { pattern: `(^|/)[.]{1,2}(/|$)|^code/([^/]*$|[^a-zA-Z0-9]|[^/]{65}|[^/]*[^/a-zA-Z0-9_-])` },
};

/** Of the name of a new source: no handler could name `code`. */
export const NEW_SOURCE_NAME: TextKeywords = { pattern: `^${SOURCE_NAME}$`, not: { pattern: '^code$' } };

const CONTINUED = '%[89aAbB][0-9a-fA-F]';
/** One percent-encoded character of UTF-8 that is no slash, backslash or NUL (RFC 3629: no overlong form, no surrogate). */
const ESCAPE = [
  '%0[1-9a-fA-F]',
  '%[13467][0-9a-fA-F]',
  '%2[0-9a-eA-E]',
  '%5[0-9abd-fABD-F]',
  `%([cC][2-9a-fA-F]|[dD][0-9a-fA-F])${CONTINUED}`,
  `%[eE]0%[aAbB][0-9a-fA-F]${CONTINUED}`,
  `%[eE][1-9a-cA-CefEF](${CONTINUED}){2}`,
  `%[eE][dD]%[89][0-9a-fA-F]${CONTINUED}`,
  `%[fF]0%[9aAbB][0-9a-fA-F](${CONTINUED}){2}`,
  `%[fF][1-3](${CONTINUED}){3}`,
  `%[fF]4%8[0-9a-fA-F](${CONTINUED}){2}`,
].join('|');
const LITERAL = `([A-Za-z0-9._~!$&'()+,;=@-]|${ESCAPE})+`;
const PARAMETER = ':[A-Za-z_][A-Za-z0-9_]*';

/** `parseRoute`. */
export const ROUTE: TextKeywords = {
  pattern: `^(/|(/(${PARAMETER}|${LITERAL}))+|(/(${PARAMETER}|${LITERAL}))*/[*])$`,
  // A dot segment, and a parameter that is named twice.
  not: { pattern: '/([.]|%2[eE]){1,2}(/|$)|/(:[A-Za-z_][A-Za-z0-9_]*)(/.*)?/\\3(/|$)' },
};

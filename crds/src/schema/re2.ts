/** What JavaScript's `\s` matches; RE2's own matches only ASCII. */
const SPACE = String.raw`\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;

/** An escape as a whole, the borders of a class, the beginning of a group, or any other character. */
const TOKEN = /\\[\s\S]|\[\^?|\]|\((?:\?(?:<?[=!]|<|:))?|[\s\S]/g;

/**
 * The same pattern for RE2, the regular expressions of Kubernetes.
 * @throws RangeError for what RE2 does not support (look-around, references) or this function does not know.
 */
export function toRe2(pattern: string): string {
  let inClass = false;
  return pattern.replace(TOKEN, (token) => {
    if (token.startsWith('\\')) return escapeOf(token, inClass);
    if (!inClass && /^\(\?<?[=!]/.test(token)) throw new RangeError(`RE2 has no look-around: ${pattern}`);
    if (!inClass && token === '(?<') throw new RangeError(`write groups without names: ${pattern}`);
    if (token.startsWith('[')) {
      const text = inClass ? token.replace('[', '\\[') : token;
      inClass = true;
      return text;
    }
    if (token === ']') inClass = false;
    return token;
  });
}

function escapeOf(token: string, inClass: boolean): string {
  const letter = token.slice(1);
  if (letter === 's') return inClass ? SPACE : `[${SPACE}]`;
  if (letter === 'S' && !inClass) return `[^${SPACE}]`;
  if (letter === '0') return String.raw`\x00`;
  if (letter === '/') return letter;
  // \d and \w are ASCII in both.
  if (/[dDwWtnrfv]/.test(letter) || /[^A-Za-z0-9]/.test(letter)) return token;
  throw new RangeError(`no translation of ${token}`);
}

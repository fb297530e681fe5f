import { toRe2 } from './re2.ts';

it.each([
  [/^[a-z]{1,63}$/, '^[a-z]{1,63}$'],
  [/^a\/b$/, '^a/b$'],
  [/[^\0\\]\]/, String.raw`[^\x00\\]\]`],
  [/^(?:a|b)\d\.$/, String.raw`^(?:a|b)\d\.$`],
  [/[[a]/, String.raw`[\[a]`],
])('%s becomes %s', (pattern, re2) => {
  expect(toRe2(pattern.source)).toBe(re2);
});

it.each([/\s/, /\S/, /[\s]/, /[^\s,]/])('%s finds the same spaces, beyond ASCII as well', (pattern) => {
  const written = toRe2(pattern.source).replaceAll(/\\x\{([0-9a-f]+)\}/g, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  const translated = new RegExp(written);
  for (let code = 0; code < 0xd800; code += 1) {
    const character = String.fromCharCode(code);
    expect(`${code} ${translated.test(character)}`).toBe(`${code} ${pattern.test(character)}`);
  }
});

it.each([/(?=a)/, /(?!a)/, /(?<=a)/, /(?<name>a)/, /(a)\1/, /[\S]/, /\u00e4/, /\bx/])(
  '%s cannot be said, and is not',
  (pattern) => {
    expect(() => toRe2(pattern.source)).toThrow(RangeError);
  },
);

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
  const others = Array.from({ length: 0xd800 }, (_, code) => String.fromCharCode(code)).filter(
    (character) => translated.test(character) !== pattern.test(character),
  );
  expect(others).toEqual([]);
});

it.each([/(?=a)/, /(?!a)/, /(?<=a)/, /(?<name>a)/, /(a)\1/, /[\S]/, /\u00e4/, /\bx/])(
  '%s cannot be said, and is not',
  (pattern) => {
    expect(() => toRe2(pattern.source)).toThrow(RangeError);
  },
);

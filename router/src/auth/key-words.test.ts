import { KEY_VALUE } from '@wherry/core/crypto/key-value.ts';
import { fc } from '@wherry/testing/properties.ts';
import { keyWords } from './key-words.ts';

describe('keyWords', () => {
  it('R6: finds every word that has the form of a key, wherever it stands and whatever is beside it', () => {
    const inKeys = fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/);
    const word = fc.oneof(
      inKeys,
      fc.constantFrom(15, 16, 17, 31, 32, 33, 256, 257).map((length) => '_'.repeat(length)),
    );
    const beside = fc.oneof(
      fc.constantFrom(' ', '.', '=', '%', '\t', '\0', '@', '[', '`', '{', '/', ':', '\x7f', 'é', '\u{1f511}'),
      fc.string({ minLength: 1, maxLength: 20 }),
    );
    const text = fc.array(fc.oneof(word, beside), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (whole) => {
        expect(keyWords(whole)).toEqual(whole.split(/[^A-Za-z0-9_-]+/).filter((part) => KEY_VALUE.test(part)));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([16, 17, 31, 32, 33, 255, 256])('R6: finds a key of %d characters at every place of a text', (length) => {
    const key = 'k'.repeat(length);
    for (let before = 0; before <= 40; before++) {
      const words = [`${' '.repeat(before)}${key}`, `${'ab '.repeat(before)}${key};`].map(keyWords);
      expect(words).toEqual([[key], [key]]);
    }
  });
});

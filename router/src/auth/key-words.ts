import { KEY_CHARACTER, KEY_MAX_LENGTH, KEY_MIN_LENGTH } from '@wherry/core/crypto/key-value.ts';

/** By character code: 1 for characters that keys consist of. */
const IN_KEYS = Uint8Array.from({ length: 128 }, (_, code) => Number(KEY_CHARACTER.test(String.fromCharCode(code))));

/**
 * The longest words of key characters in a text that have the form of a key: a key is found whatever surrounds it.
 * Every header of every call is searched, so in a text without such a word only every sixteenth character and the word
 * around it are read: none as long as the shortest key lies between them.
 */
export function keyWords(text: string): string[] {
  const words: string[] = [];
  for (let at = KEY_MIN_LENGTH - 1; at < text.length; at += KEY_MIN_LENGTH) {
    if (!isInKeys(text, at)) continue;
    let start = at;
    while (start > 0 && isInKeys(text, start - 1)) start--;
    while (at + 1 < text.length && isInKeys(text, at + 1)) at++;
    const length = at + 1 - start;
    if (length >= KEY_MIN_LENGTH && length <= KEY_MAX_LENGTH) words.push(text.slice(start, at + 1));
  }
  return words;
}

function isInKeys(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < IN_KEYS.length && IN_KEYS[code] === 1;
}

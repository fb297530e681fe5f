import { KEY_MIN_LENGTH } from '@wherry/core/crypto/key-value.ts';
import { basicTexts } from './carriers.ts';
import type { KeyIndex } from './key-index.ts';
import { keyWords } from './key-words.ts';
import { readings } from './query-key.ts';
import { STANDARD_NAMES } from '../headers/standard-names.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** Where a call may carry a key: its headers and its target. */
interface KeyHolder {
  rawHeaders: readonly string[];
  path: string;
  query: string | undefined;
}

/**
 * The words of a call that are what keys look like, each once. It reads all headers, their names too, because a
 * caller, or a page that was called with `?api_key=`, may put a key into any of them.
 * @returns undefined when there are more than ROUTER_LIMITS.keyLikeWords.
 */
export function keyLikeWords({ rawHeaders, path, query }: KeyHolder): ReadonlySet<string> | undefined {
  const words = new Set<string>();
  for (let index = 0; index < rawHeaders.length && words.size <= ROUTER_LIMITS.keyLikeWords; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    if (mayHoldKey(name)) addWords(words, name);
    addWords(words, value);
    for (const text of basicTexts(value)) addWords(words, text);
  }
  addWords(words, path);
  if (query !== undefined) addWords(words, query);
  return words.size > ROUTER_LIMITS.keyLikeWords ? undefined : words;
}

/** Whether a header's name may contain a key, which few names are long enough for. */
export const mayHoldKey = (name: string): boolean =>
  name.length >= KEY_MIN_LENGTH && !STANDARD_NAMES.has(name.toLowerCase());

function addWords(words: Set<string>, text: string): void {
  // Escaped or not, a key is not shorter: most headers end here.
  if (text.length < KEY_MIN_LENGTH) return;
  for (const reading of readings(text)) for (const word of keyWords(reading)) words.add(word);
}

/**
 * The Wherry keys among the words of a call, whether or not they authenticate it: disabled and expired keys, keys of
 * other groups and the management key too (R6).
 * @param matched the key that authenticated the call, which is known already.
 */
export function heldKeys(words: ReadonlySet<string>, matched: string | undefined, keys: KeyIndex): readonly string[] {
  const found = matched === undefined ? [] : [matched];
  for (const word of words) if (word !== matched && keys.find(word) !== undefined) found.push(word);
  return found;
}

/** Whether a text that is no carrier, a path or an origin, has a key in it, escaped or not. */
export function hasKey(text: string, keys: KeyIndex | undefined): boolean {
  if (keys === undefined) return false;
  return readings(text).some((reading) => keyWords(reading).some((word) => keys.find(word) !== undefined));
}

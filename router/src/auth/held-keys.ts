import { basicTexts } from './carriers.ts';
import type { KeyIndex } from './key-index.ts';
import { keyWords } from './key-words.ts';
import { readings } from './query-key.ts';

/**
 * Words of a call that may be keys, and so cost a digest each. A target is too short for so many UUIDs, also where each
 * makes two words because an escaped comma precedes it: who sends more than that is after the router's time (R12).
 */
export const MAX_WORDS = 512;

/** Where a call may carry a key: its headers and its target. */
interface KeyHolder {
  rawHeaders: readonly string[];
  path: string;
  query: string | undefined;
}

/**
 * The words of a call that are what keys look like, each once. Of all headers: which of them a caller, or a page that
 * was called with `?api_key=`, puts a key into is not ours to know.
 * @returns undefined when there are more than MAX_WORDS.
 */
export function keyLikeWords({ rawHeaders, path, query }: KeyHolder): ReadonlySet<string> | undefined {
  const words = new Set<string>();
  const add = (text: string): void => {
    for (const reading of readings(text)) for (const word of keyWords(reading)) words.add(word);
  };
  for (let index = 1; index < rawHeaders.length && words.size <= MAX_WORDS; index += 2) {
    const value = rawHeaders[index] ?? '';
    add(value);
    for (const text of basicTexts(value)) add(text);
  }
  add(path);
  if (query !== undefined) add(query);
  return words.size > MAX_WORDS ? undefined : words;
}

/**
 * The Wherry keys among the words of a call, whichever of them let the call in, and whether it may let any in: a
 * disabled or expired one, another group's and the management key too (R6).
 * @param matched the key that let the call in, which is known already.
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

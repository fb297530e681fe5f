import { KEY_VALUE } from '@wherry/core/keys/key-value.ts';
import { headerValues } from '../headers/raw-headers.ts';
import type { KeyCarrier } from './authenticate.ts';
import { basicCredentials } from './carriers.ts';
import type { KeyIndex } from './key-index.ts';
import { queryParts, unescaped } from './query-key.ts';

/** What stands between a key and its scheme, its user name or another value of the same carrier. */
const BETWEEN = /[\s,;:="']+/;
/** The alphabet of keys: what a path or an origin is split by. */
const NO_KEY_CHARACTERS = /[^A-Za-z0-9_-]+/;

/**
 * Every Wherry key in the carriers of a call, whichever of them let the call in, and whether it may let any in: a disabled
 * or expired one, another group's and the management key too (R6). A carrier that stands twice is looked through twice.
 * @param matched the key that let the call in, which is known already.
 */
export function heldKeys(carrier: Pick<KeyCarrier, 'rawHeaders' | 'query'>, matched: string | undefined, keys: KeyIndex): readonly string[] {
  const texts = carriedTexts(carrier);
  if (texts.length === 0) return NONE;
  const found = new Set(matched === undefined ? [] : [matched]);
  for (const text of texts) {
    for (const part of text.split(BETWEEN)) {
      if (KEY_VALUE.test(part) && !found.has(part) && keys.find(part) !== undefined) found.add(part);
    }
  }
  return [...found];
}

/** Whether a text that is no carrier, a path or an origin, has a key in it, escaped or not. */
export function hasKey(text: string, keys: KeyIndex | undefined): boolean {
  if (keys === undefined) return false;
  return unescaped(text).split(NO_KEY_CHARACTERS).some((part) => KEY_VALUE.test(part) && keys.find(part) !== undefined);
}

const NONE: readonly string[] = [];

function carriedTexts({ rawHeaders, query }: Pick<KeyCarrier, 'rawHeaders' | 'query'>): string[] {
  const texts = headerValues(rawHeaders, 'x-api-key').map(unescaped);
  for (const value of headerValues(rawHeaders, 'authorization')) texts.push(basicCredentials(value) ?? unescaped(value));
  if (query !== undefined && /api_key|%/i.test(query)) {
    for (const { name, value } of queryParts(query)) if (name.toLowerCase() === 'api_key') texts.push(value);
  }
  return texts;
}

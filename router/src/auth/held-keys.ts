import { KEY_VALUE } from '@wherry/core/keys/key-value.ts';
import { headerValues } from '../headers/raw-headers.ts';
import type { KeyCarrier } from './authenticate.ts';
import { basicTexts } from './carriers.ts';
import type { KeyIndex } from './key-index.ts';
import { queryParts, unescaped } from './query-key.ts';

/** What is not in the alphabet of keys: whatever stands beside a key, it is found. */
const NO_KEY_CHARACTERS = /[^A-Za-z0-9_-]+/;

/**
 * Every Wherry key in the carriers of a call, whichever of them let the call in, and whether it may let any in: a disabled
 * or expired one, another group's and the management key too (R6). A carrier that stands twice is looked through twice.
 * @param matched the key that let the call in, which is known already.
 */
export function heldKeys(
  carrier: Pick<KeyCarrier, 'rawHeaders' | 'query'>,
  matched: string | undefined,
  keys: KeyIndex,
): readonly string[] {
  const texts = carriedTexts(carrier);
  if (texts.length === 0) return NONE;
  const found = new Set(matched === undefined ? [] : [matched]);
  for (const text of texts) {
    for (const part of text.split(NO_KEY_CHARACTERS)) {
      if (KEY_VALUE.test(part) && !found.has(part) && keys.find(part) !== undefined) found.add(part);
    }
  }
  return [...found];
}

/** Whether a text that is no carrier, a path or an origin, has a key in it, escaped or not. */
export function hasKey(text: string, keys: KeyIndex | undefined): boolean {
  if (keys === undefined) return false;
  return unescaped(text)
    .split(NO_KEY_CHARACTERS)
    .some((part) => KEY_VALUE.test(part) && keys.find(part) !== undefined);
}

const NONE: readonly string[] = [];

function carriedTexts({ rawHeaders, query }: Pick<KeyCarrier, 'rawHeaders' | 'query'>): string[] {
  const texts = headerValues(rawHeaders, 'x-api-key').map(unescaped);
  for (const value of headerValues(rawHeaders, 'authorization')) texts.push(unescaped(value), ...basicTexts(value));
  // A page that was called with `?api_key=` names its own URL to whatever it loads from this host.
  for (const value of headerValues(rawHeaders, 'referer')) texts.push(unescaped(value));
  if (query !== undefined && /api_key|%/i.test(query)) {
    // Some callers and frameworks separate by `;`, or write `api_key[]`.
    for (const { name, value } of queryParts(query)) if (/api_key/i.test(`${name}=${value}`)) texts.push(value);
  }
  return texts;
}

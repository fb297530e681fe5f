import { headerValues } from '../headers/raw-headers.ts';
import { holdsOneOf, queryParts } from './query-key.ts';

/**
 * The key that a caller presents, by the first carrier that is present: `X-API-Key`, `Authorization`, `api_key`. A
 * carrier that is present decides, an empty one too; a header that appears twice is ambiguous, so it counts as an
 * invalid key.
 * @returns undefined when no carrier is present; `""`, which is no key, for one that cannot be read.
 */
export function presentedKey(rawHeaders: readonly string[], query: string | undefined): string | undefined {
  const [apiKey, ...moreApiKeys] = headerValues(rawHeaders, 'x-api-key');
  if (apiKey !== undefined) return moreApiKeys.length > 0 ? '' : apiKey;
  const [authorization, ...moreAuthorizations] = headerValues(rawHeaders, 'authorization');
  if (authorization !== undefined) return moreAuthorizations.length > 0 ? '' : authorizationKey(authorization);
  if (query === undefined) return undefined;
  return queryParts(query).find((part) => part.name === 'api_key')?.value;
}

/**
 * Whether a header holds one of the keys (R6): as it is or escaped, which catches every carrier and a `Referer` with
 * `?api_key=` too, or inside Basic credentials.
 */
export function holdsKey(value: string, keys: readonly string[]): boolean {
  if (keys.length === 0) return false;
  return holdsOneOf(value, keys) || basicTexts(value).some((text) => holdsOneOf(text, keys));
}

function authorizationKey(value: string): string {
  const credentials = basicCredentials(value);
  // With a user name they are credentials of a user, not a key.
  if (credentials !== undefined) return credentials.startsWith(':') ? credentials.slice(1) : '';
  return /^bearer(?: +|$)/i.test(value) ? value.slice('bearer'.length).trim() : value;
}

const BASIC = /basic/i;
/** Characters of base64 that the shortest key takes. */
const LEAST_BASE64 = 22;
const NONE: readonly string[] = [];
/** For each one the rest of the header is decoded, so their number bounds the time that a header takes (R12). */
const MOST_SCHEMES = 8;

/**
 * What may be decoded of a header that names Basic credentials, wherever and however separated: a key is removed from
 * it (R6) also where it is written in a form that does not authenticate.
 */
export function basicTexts(value: string): readonly string[] {
  // Nearly no header names them, and every header of every call comes by here.
  if (value.length < 'basic'.length + LEAST_BASE64 || !BASIC.test(value)) return NONE;
  // Decoding skips what is not base64: all that follows the scheme may authenticate a caller.
  const rests = [...value.matchAll(/basic/gi)].slice(0, MOST_SCHEMES).map(({ index }) => value.slice(index + 5));
  const tokens = value.split(/[\s,]+/).filter((token) => token.length >= LEAST_BASE64);
  return [...rests, ...tokens].map((text) => Buffer.from(text, 'base64').toString('utf8'));
}

/** The decoded `user:password` of Basic credentials; undefined when it is another scheme. */
function basicCredentials(value: string): string | undefined {
  if (!/^basic(?: +|$)/i.test(value)) return undefined;
  return Buffer.from(value.slice('basic'.length).trim(), 'base64').toString('utf8');
}

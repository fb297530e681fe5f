import { hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto';

const TOKEN_BYTES = 32;

/**
 * The token by which a runtime proves which function it belongs to: HKDF-SHA256 of the feed key, bound to the
 * function's uid, base64url. It gives access to that function's own feed only.
 */
export function feedToken(feedKey: KeyObject, functionUid: string): string {
  const bytes = hkdfSync('sha256', feedKey, Buffer.alloc(0), `wherry runtime feed:${functionUid}`, TOKEN_BYTES);
  return Buffer.from(bytes).toString('base64url');
}

/**
 * Whether the token is that function's, under any of the keys: the current one, and the previous one while the pods
 * still hold tokens of it. The time that the check takes reveals nothing about the right token.
 */
export function isFeedToken(token: string, functionUid: string, feedKeys: readonly KeyObject[]): boolean {
  const given = Buffer.from(token);
  const matches = feedKeys.map((key) => {
    const expected = Buffer.from(feedToken(key, functionUid));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return matches.includes(true);
}

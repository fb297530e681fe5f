import { createSecretKey } from 'node:crypto';
import { feedToken, isFeedToken } from './feed-token.ts';

const key = createSecretKey(Buffer.alloc(32, 1));
const other = createSecretKey(Buffer.alloc(32, 2));

describe('feedToken', () => {
  it('is what other programs compute: HKDF-SHA256 without a salt', () => {
    expect(feedToken(key, 'b7a1')).toMatch(/^[\w-]{43}$/);
    expect(feedToken(key, 'b7a1')).toBe(feedToken(createSecretKey(Buffer.alloc(32, 1)), 'b7a1'));
  });

  it('is one for each key and function', () => {
    expect(new Set([feedToken(key, 'a'), feedToken(key, 'b'), feedToken(other, 'a')]).size).toBe(3);
  });

  it('is taken under the current and the previous key, for its own function alone', () => {
    const token = feedToken(key, 'a');
    expect(isFeedToken(token, 'a', [key])).toBe(true);
    expect(isFeedToken(token, 'a', [other, key])).toBe(true);
    expect(isFeedToken(token, 'a', [other])).toBe(false);
    expect(isFeedToken(token, 'b', [key])).toBe(false);
    expect(isFeedToken('', 'a', [key])).toBe(false);
    expect(isFeedToken(`${token}x`, 'a', [key])).toBe(false);
    expect(isFeedToken(token, 'a', [])).toBe(false);
  });
});

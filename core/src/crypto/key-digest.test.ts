import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { testDigestKey } from '../fakes/test-key-ring.ts';
import { createDigestKey, keyDigest, sameDigest } from './key-digest.ts';

describe('keyDigest', () => {
  it('is HMAC-SHA256 in base64url', () => {
    const expected = createHmac('sha256', Buffer.alloc(32, 7)).update('wh_value').digest('base64url');
    expect(keyDigest(testDigestKey(), 'wh_value')).toBe(expected);
  });

  it('differs for another value and under another key', () => {
    const other = createDigestKey(new Uint8Array(32).fill(8));
    const digests = [keyDigest(testDigestKey(), 'a'), keyDigest(testDigestKey(), 'b'), keyDigest(other, 'a')];
    expect(new Set(digests).size).toBe(3);
  });

  it.each([0, 16, 31, 33])('refuses a key of %d bytes', (length) => {
    expect(() => createDigestKey(new Uint8Array(length))).toThrow(`must be 32 bytes (it has ${length})`);
  });
});

describe('sameDigest', () => {
  it('is equality', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 4 });
    fc.assert(fc.property(text, text, (a, b) => sameDigest(a, b) === (a === b) && sameDigest(a, a)));
  });
});

import { createHmac } from 'node:crypto';
import { fc } from '@wherry/testing/properties.ts';
import { testDigestKey } from '@wherry/testing/test-key-ring.ts';
import { createDigestKey, keyDigest, sameDigest } from './key-digest.ts';

describe('keyDigest', () => {
  it('is HMAC-SHA256 in base64url', () => {
    const expected = createHmac('sha256', Buffer.alloc(32, 7)).update('wh_value').digest('base64url');
    expect(keyDigest(testDigestKey(), 'wh_value')).toBe(expected);
  });

  it('R6: is the HMAC that node:crypto makes, of every value under every key, in any order', () => {
    const secret = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const value = fc.oneof(
      fc.stringMatching(/^[a-zA-Z0-9_-]{16,256}$/),
      fc.string({ unit: 'binary', maxLength: 1200 }),
      // Lone surrogates too.
      fc.array(fc.nat(0xffff), { minLength: 330, maxLength: 350 }).map((units) => String.fromCharCode(...units)),
    );
    fc.assert(
      fc.property(secret, fc.array(value, { minLength: 1, maxLength: 4 }), (bytes, values) => {
        const digestKey = createDigestKey(bytes);
        for (const text of values)
          expect(keyDigest(digestKey, text)).toBe(createHmac('sha256', bytes).update(text).digest('base64url'));
      }),
    );
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

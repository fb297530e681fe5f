import { fc } from '@wherry/testing/properties.ts';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { isEnvelopeError } from './envelope-error.ts';
import { createKeyRing } from './key-ring.ts';
import { open, seal, type EnvelopeBinding } from './envelope.ts';

const ring = testKeyRing(1, 2);
const here: EnvelopeBinding = { kind: 'ApiKey', namespace: 'wherry', name: 'key-1', field: 'spec.value' };

const text = fc.string({ unit: 'binary', maxLength: 200 });
const bytesOf = (envelope: string): Buffer => Buffer.from(envelope.slice('wherry1.'.length), 'base64url');

function codeOf(run: () => string): string {
  try {
    return `opened: ${run()}`;
  } catch (error) {
    if (!isEnvelopeError(error)) throw error;
    return error.code;
  }
}

describe('an envelope', () => {
  it('E1: gives any string back', () => {
    fc.assert(fc.property(text, (plaintext) => open(ring, here, seal(ring, here, plaintext)) === plaintext));
    const long = 'ß'.repeat(32_768);
    expect(open(ring, here, seal(ring, here, long))).toBe(long);
  });

  it('E1: is a format, a key version, 32 bytes of salt, 12 of nonce, the ciphertext and 16 of tag', () => {
    fc.assert(
      fc.property(text, (plaintext) => {
        const envelope = seal(ring, here, plaintext);
        expect(envelope).toMatch(/^wherry1\.[A-Za-z0-9_-]+$/);
        const bytes = bytesOf(envelope);
        expect(bytes).toHaveLength(4 + 32 + 12 + Buffer.byteLength(plaintext) + 16);
        expect(bytes.readUInt32BE()).toBe(2);
      }),
    );
  });

  it('E1: has a salt and a nonce of its own each time', () => {
    const heads = Array.from({ length: 100 }, () => bytesOf(seal(ring, here, 'same')).subarray(4, 48));
    expect(new Set(heads.map((head) => head.subarray(0, 32).toString('hex'))).size).toBe(100);
    expect(new Set(heads.map((head) => head.subarray(32).toString('hex'))).size).toBe(100);
  });

  it('stays what it is: one that the first release made opens', () => {
    const golden =
      'wherry1.AAAAATGAoAV-csRKytm1wVYexlNDKQZ1v4hVg-G5bVRJU1VQaJN3cxGftFfhkGahg6PqlGjh2P_DfEFt5lgnvUHNdOyrVA';
    expect(open(testKeyRing(1), here, golden)).toBe('golden');
  });

  it('fits into a confidential field at the largest size of a secret', () => {
    expect(seal(ring, here, 'x'.repeat(65_536)).length).toBeLessThanOrEqual(131_072);
  });

  it('refuses a string that UTF-8 cannot give back', () => {
    expect(() => seal(ring, here, 'a\ud800b')).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });
});

describe('E2: an envelope opens in its own place alone', () => {
  const word = fc.string({ unit: 'binary', maxLength: 8 });
  const binding = fc.record({ kind: word, namespace: word, name: word, field: word });

  it('for any two places', () => {
    fc.assert(
      fc.property(binding, binding, text, (from, to, plaintext) => {
        const same = (Object.keys(from) as (keyof EnvelopeBinding)[]).every((key) => from[key] === to[key]);
        const envelope = seal(ring, from, plaintext);
        expect(codeOf(() => open(ring, to, envelope))).toBe(same ? `opened: ${plaintext}` : 'not_authentic');
      }),
    );
  });

  it.each(['kind', 'namespace', 'name', 'field'] as const)('of another %s it does not open', (part) => {
    const envelope = seal(ring, here, 'secret');
    expect(codeOf(() => open(ring, { ...here, [part]: `${here[part]}x` }, envelope))).toBe('not_authentic');
  });

  it.each([
    [
      { namespace: 'a', name: 'bc' },
      { namespace: 'ab', name: 'c' },
    ],
    [
      { namespace: 'a","b', name: 'c' },
      { namespace: 'a', name: 'b","c' },
    ],
    [
      { namespace: 'a/b', name: 'c' },
      { namespace: 'a', name: 'b/c' },
    ],
  ])('however the parts are cut: %j is not %j', (from, to) => {
    const envelope = seal(ring, { ...here, ...from }, 'secret');
    expect(codeOf(() => open(ring, { ...here, ...to }, envelope))).toBe('not_authentic');
  });

  it('under another key version it does not open', () => {
    const bytes = bytesOf(seal(ring, here, 'secret'));
    bytes.writeUInt32BE(1);
    expect(codeOf(() => open(ring, here, `wherry1.${bytes.toString('base64url')}`))).toBe('not_authentic');
  });

  it('under a version of the same secret it does not open either', () => {
    const secret = new Uint8Array(32).fill(9);
    const twins = createKeyRing([
      { version: 1, secret },
      { version: 2, secret },
    ]);
    const bytes = bytesOf(seal(twins, here, 'secret'));
    bytes.writeUInt32BE(1);
    expect(codeOf(() => open(twins, here, `wherry1.${bytes.toString('base64url')}`))).toBe('not_authentic');
  });
});

describe('E3: what is not whole gives a typed error and no plaintext', () => {
  it('any flipped bit of its bytes', () => {
    fc.assert(
      fc.property(text, fc.nat(), (plaintext, at) => {
        const bytes = bytesOf(seal(ring, here, plaintext));
        const bit = at % (bytes.length * 8);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        const code = codeOf(() => open(ring, here, `wherry1.${bytes.toString('base64url')}`));
        expect(code).toBe(bit < 32 && bytes.readUInt32BE() !== 1 ? 'unknown_key' : 'not_authentic');
      }),
      { numRuns: 500 },
    );
  });

  it('any flipped bit of its text', () => {
    const envelope = seal(ring, here, 'secret');
    for (let at = 0; at < envelope.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = String.fromCharCode(envelope.charCodeAt(at) ^ (1 << bit));
        const changed = envelope.slice(0, at) + flipped + envelope.slice(at + 1);
        expect(codeOf(() => open(ring, here, changed))).not.toMatch(/^opened/);
      }
    }
  });

  it('any cut, at either end or in the middle, and anything added', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.integer({ min: 1, max: 80 }), (plaintext, at, length) => {
        const envelope = seal(ring, here, plaintext);
        const from = at % envelope.length;
        const cut = envelope.slice(0, from) + envelope.slice(from + length);
        expect(codeOf(() => open(ring, here, cut))).not.toMatch(/^opened/);
        expect(codeOf(() => open(ring, here, envelope + 'A'.repeat(length)))).not.toMatch(/^opened/);
      }),
      { numRuns: 500 },
    );
  });

  it('any text at all', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map((rest) => `wherry1.${rest}`),
        ),
        (rest) => !codeOf(() => open(ring, here, rest)).startsWith('opened'),
      ),
    );
  });

  it.each([
    ['', 'malformed'],
    ['secret', 'malformed'],
    ['wherry1.', 'malformed'],
    ['wherry1.AAAAAQ', 'malformed'],
    [`wherry1.${'A'.repeat(84)}=`, 'malformed'],
    ['wherry2.AAAAAQ', 'unknown_format'],
  ])('%j is %s', (envelope, code) => {
    expect(codeOf(() => open(ring, here, envelope))).toBe(code);
  });

  it('E3: a version that the ring does not hold, named in the error', () => {
    const envelope = seal(testKeyRing(7), here, 'secret');
    expect(codeOf(() => open(ring, here, envelope))).toBe('unknown_key');
    expect(() => open(ring, here, envelope)).toThrow('version 7');
  });

  it('another ring of the same version', () => {
    const other = { ...ring, get: () => ring.get(1) };
    expect(codeOf(() => open(other, here, seal(ring, here, 'secret')))).toBe('not_authentic');
  });

  it('E5: a retired key still opens what it sealed', () => {
    const old = seal(testKeyRing(1), here, 'secret');
    expect(bytesOf(old).readUInt32BE()).toBe(1);
    expect(open(ring, here, old)).toBe('secret');
  });
});

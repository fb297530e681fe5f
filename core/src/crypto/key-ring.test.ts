import { createKeyRing } from './key-ring.ts';

const secret = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

describe('createKeyRing', () => {
  it('seals with the highest version, in whatever order the keys come', () => {
    const ring = createKeyRing([
      { version: 3, secret: secret(3) },
      { version: 10, secret: secret(10) },
      { version: 1, secret: secret(1) },
    ]);
    expect(ring.current().version).toBe(10);
    expect(ring.get(10)?.export()).toEqual(Buffer.from(secret(10)));
    expect(ring.get(3)?.export()).toEqual(Buffer.from(secret(3)));
    expect(ring.get(2)).toBeUndefined();
  });

  it('E5: seals with the version that is named as the current one, and knows the higher ones too', () => {
    const keys = [1, 2, 3].map((version) => ({ version, secret: secret(version) }));
    const ring = createKeyRing(keys, 2);
    expect(ring.current()).toMatchObject({ version: 2 });
    expect(ring.current().key.export()).toEqual(Buffer.from(secret(2)));
    expect(ring.get(3)?.export()).toEqual(Buffer.from(secret(3)));
    expect(() => createKeyRing(keys, 4)).toThrow('version 4) must be in the ring');
  });

  it('keeps its keys when the caller wipes the bytes that it read', () => {
    const bytes = secret(5);
    const ring = createKeyRing([{ version: 1, secret: bytes }]);
    bytes.fill(0);
    expect(ring.get(1)?.export()).toEqual(Buffer.from(secret(5)));
  });

  it.each([
    ['no key', [], 'at least one'],
    ['a short key', [{ version: 1, secret: new Uint8Array(31) }], 'version 1 must be 32 bytes (it has 31)'],
    ['an empty key', [{ version: 4, secret: new Uint8Array(0) }], 'version 4 must be 32 bytes (it has 0)'],
    [
      'a version twice',
      [
        { version: 1, secret: secret(1) },
        { version: 1, secret: secret(2) },
      ],
      'version 1 must appear only once',
    ],
    ['version 0', [{ version: 0, secret: secret(1) }], 'from 1'],
    ['half a version', [{ version: 1.5, secret: secret(1) }], 'whole number'],
    ['too high a version', [{ version: 2 ** 32, secret: secret(1) }], 'whole number'],
  ])('E4: refuses %s', (_title, keys, message) => {
    expect(() => createKeyRing(keys)).toThrow(RangeError);
    expect(() => createKeyRing(keys)).toThrow(message);
  });
});

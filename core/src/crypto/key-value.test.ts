import { generateKeyValue, keyValueSchema } from './key-value.ts';

describe('key values', () => {
  it('are generated as wh_ and 43 base64url characters of 256 random bits', () => {
    const values = Array.from({ length: 100 }, generateKeyValue);
    for (const value of values) {
      expect(value).toMatch(/^wh_[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(value.slice(3), 'base64url')).toHaveLength(32);
      expect(keyValueSchema.safeParse(value).success).toBe(true);
    }
    expect(new Set(values).size).toBe(100);
  });

  it.each([
    ['a'.repeat(16), true],
    ['a'.repeat(256), true],
    ['A-z_0123456789abc', true],
    ['a'.repeat(15), false],
    ['a'.repeat(257), false],
    ['', false],
    [`${'a'.repeat(16)}\n`, false],
    [`${'a'.repeat(16)} `, false],
    [`${'a'.repeat(16)}=`, false],
    [`${'a'.repeat(16)}ä`, false],
  ])('as given by a person: %j is good: %s', (value, good) => {
    expect(keyValueSchema.safeParse(value).success).toBe(good);
  });
});

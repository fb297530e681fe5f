import { fc } from '@wherry/testing/properties.ts';
import { functionNameFor, nameFor } from './names.ts';
import { nameSchema } from './resources/meta.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 80 }),
);

describe('nameFor', () => {
  it('is always a DNS label', () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 3 }),
        (parts) => nameSchema.safeParse(nameFor(...parts)).success,
      ),
    );
  });

  it('is the same for the same parts, so that two concurrent creates meet', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), (parts) => nameFor(...parts) === nameFor(...parts)),
    );
  });

  it.each(['a', 'my-api', 'a'.repeat(63), '0'])('is %s itself where that is a DNS label', (name) => {
    expect(nameFor(name)).toBe(name);
  });

  it.each([
    ['My_API', 'my-api'],
    ['-a-', 'a'],
    ['Größe', 'gro-e'],
    ['日本', 'x'],
    ['a'.repeat(64), 'a'.repeat(52)],
  ])('of %s is a slug and a hash', (name, slug) => {
    expect(nameFor(name)).toMatch(new RegExp(`^${slug}-[0-9a-f]{10}$`));
  });

  it('distinguishes what has one slug, and the parts of a name', () => {
    const names = [
      nameFor('My_API'),
      nameFor('my_api'),
      nameFor('MY-API'),
      nameFor('g', 'my-api'),
      nameFor('h', 'my-api'),
      nameFor('my-api'),
    ];
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('functionNameFor', () => {
  it('is always a DNS label', () => {
    fc.assert(fc.property(text, (name) => nameSchema.safeParse(functionNameFor(name)).success));
  });

  it('gives two functions of one name two names', () => {
    const names = Array.from({ length: 100 }, () => functionNameFor('Hello world'));
    expect(new Set(names).size).toBe(100);
    for (const name of names) expect(name).toMatch(/^hello-world-[a-z0-9]{6}$/);
  });
});

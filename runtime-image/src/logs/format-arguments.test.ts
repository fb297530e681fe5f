import { fc } from '@wherry/testing/properties.ts';
import { formatArguments, formatMessage, MAX_TEXT_LENGTH } from './format-arguments.ts';
import { SecretMask } from './secret-mask.ts';

const none = (text: string): string => text;
const args = (...values: unknown[]): unknown => JSON.parse(formatArguments(values, none) ?? 'null');

describe('formatArguments', () => {
  it('is null without arguments', () => {
    expect(formatArguments([], none)).toBeNull();
  });

  it('formats what JSON cannot', () => {
    const cycle: Record<string, unknown> = { n: 1 };
    cycle.self = cycle;
    const bad = {
      get value() {
        throw new Error('no');
      },
    };
    expect(
      args(
        1n,
        undefined,
        NaN,
        Symbol('s'),
        function named() {},
        cycle,
        bad,
        new Map([['a', 1]]),
        new Set([2]),
        new Date(0),
        new Uint8Array(3),
      ),
    ).toEqual([
      '1',
      null,
      'NaN',
      'Symbol(s)',
      '[Function named]',
      { n: 1, self: '[Circular]' },
      '[Unreadable: no]',
      [['a', 1]],
      [2],
      '1970-01-01T00:00:00.000Z',
      '[Uint8Array: 3 bytes]',
    ]);
    expect(args(Object.assign(new Error('outer', { cause: new Error('inner') }), { stack: 'Error: outer' }))).toEqual([
      expect.stringMatching(/^Error: outer\n\[cause\] Error: inner/),
    ]);
  });

  it('ends at a depth, at a number of members, and at a length', () => {
    let deep: unknown = 1;
    for (let n = 0; n < 100; n += 1) deep = { deep };
    expect(JSON.stringify(args(deep))).toContain('[Object]');
    expect((args(Array(5000).fill(0)) as unknown[][])[0]).toHaveLength(999);
    const long = formatArguments(['x'.repeat(10 * MAX_TEXT_LENGTH)], none) ?? '';
    expect(long.length).toBeLessThan(MAX_TEXT_LENGTH);
    expect(JSON.parse(long)).toEqual([expect.stringContaining('truncated'), expect.any(String)]);
    expect(formatMessage('x'.repeat(100_000), none)).toMatch(/x… \(truncated: 100000 characters\)$/);
  });

  it('is JSON for any value, and the value where JSON can represent it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.anything({ withBigInt: true, withMap: true, withDate: true })),
        (values) => void args(...values),
      ),
    );
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) =>
        expect(args(value)).toEqual([JSON.parse(JSON.stringify(value))]),
      ),
    );
  });

  it('never holds a masked value, in whatever it stands', () => {
    fc.assert(
      fc.property(
        // Not a text that stands there whatever the value is.
        fc
          .string({ minLength: 3, maxLength: 20 })
          .filter(
            (value) => !'["a***b",{"***":["***"]}]'.includes(value) && !'[Circular]***null,{}"\\'.includes(value),
          ),
        (value) => {
          const mask = new SecretMask();
          mask.add(value);
          const found = formatArguments([`a${value}b`, { [value]: [value] }], (text) => mask.apply(text)) ?? '';
          expect(JSON.stringify(JSON.parse(found))).not.toContain(JSON.stringify(value).slice(1, -1));
        },
      ),
    );
  });
});

it('masks a secret within a secret, and the longer first', () => {
  const mask = new SecretMask();
  for (const value of ['pass', 'password', '']) mask.add(value);
  expect(mask.apply('password pass word')).toBe('*** *** word');
});

it.each([
  [
    'a getter',
    {
      get value(): never {
        throw new Error('a secret b');
      },
    },
  ],
  [
    'toJSON',
    {
      toJSON(): never {
        throw new Error('a secret b');
      },
    },
  ],
  ['the name of a class', Object.assign(new Uint8Array(3), { constructor: { name: 'a secret b' } })],
])('masks what it says of an object that it cannot show, with a secret in %s', (_where, value) => {
  const masked = (text: string): string => text.replaceAll('secret', '***');
  expect(formatArguments([value], masked)).toMatch(/^\["\[.*a \*\*\* b.*\]"\]$/);
});

import { fc } from '@wherry/testing/properties.ts';
import { isRoutePattern, parseRoute, routeShape } from './route-pattern.ts';

describe('parseRoute', () => {
  it.each([
    ['/', []],
    ['/users', [{ kind: 'literal', value: 'users' }]],
    [
      '/users/:id',
      [
        { kind: 'literal', value: 'users' },
        { kind: 'parameter', name: 'id' },
      ],
    ],
    ['/files/*', [{ kind: 'literal', value: 'files' }, { kind: 'rest' }]],
    ['/*', [{ kind: 'rest' }]],
    [
      '/:_a1/b',
      [
        { kind: 'parameter', name: '_a1' },
        { kind: 'literal', value: 'b' },
      ],
    ],
    ['/caf%C3%A9', [{ kind: 'literal', value: 'café' }]],
    ["/a!$&'()+,;=@~._-", [{ kind: 'literal', value: "a!$&'()+,;=@~._-" }]],
    ['/...', [{ kind: 'literal', value: '...' }]],
    ['/%3Aid', [{ kind: 'literal', value: ':id' }]],
    ['/%2A', [{ kind: 'literal', value: '*' }]],
  ])('reads %s', (pattern, segments) => {
    expect(parseRoute(pattern)).toEqual(segments);
    expect(isRoutePattern(pattern)).toBe(true);
  });

  it.each([
    ['', 'must begin with /'],
    ['users', 'must begin with /'],
    ['/users/', 'must not end with /'],
    ['//', 'must not end with /'],
    ['/a//b', 'empty segment'],
    ['/*/a', 'only as its last segment'],
    ['/a*', 'must consist of segments'],
    ['/a:b', 'must consist of segments'],
    ['/:', 'must consist of segments'],
    ['/:1a', 'must consist of segments'],
    ['/:a-b', 'must consist of segments'],
    ['/:id/:id', ':id appears twice'],
    ['/a?b', 'must consist of segments'],
    ['/a#b', 'must consist of segments'],
    ['/a b', 'must consist of segments'],
    ['/é', 'must consist of segments'],
    ['/(a|b)', 'must consist of segments'],
    ['/%zz', 'must consist of segments'],
    ['/%', 'must consist of segments'],
    ['/.', '. or .. segments'],
    ['/a/..', '. or .. segments'],
    ['/%2e%2E/a', '. or .. segments'],
    ['/a%2Fb', '%2F'],
    ['/a%5cb', '%5C'],
    ['/a%00', '%00'],
    ['/%ff', 'valid UTF-8'],
    [`/${'a'.repeat(512)}`, 'at most 512'],
  ])('R1: refuses %s', (pattern, message) => {
    expect(() => parseRoute(pattern)).toThrow(RangeError);
    expect(() => parseRoute(pattern)).toThrow(message);
    expect(isRoutePattern(pattern)).toBe(false);
  });

  it('takes 512 characters', () => {
    expect(isRoutePattern(`/${'a'.repeat(511)}`)).toBe(true);
  });

  it('throws nothing but RangeError, whatever it is given', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom('/', ':', 'a', '*', '%', '2', 'e', 'F', '.')).map((all) => `/${all.join('')}`),
    );
    fc.assert(
      fc.property(text, (pattern) => {
        try {
          for (const segment of parseRoute(pattern)) {
            if (segment.kind === 'literal') expect(segment.value).not.toMatch(/[/\\\0]|^\.\.?$|^$/);
          }
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('routeShape', () => {
  it.each([
    ['/users/:id', '/users/:name'],
    ['/caf%C3%A9', '/caf%c3%a9'],
    ['/%61', '/a'],
    ['/~a', '/%7Ea'],
  ])('%s and %s are the same route', (a, b) => {
    expect(routeShape(a)).toBe(routeShape(b));
  });

  it.each([
    ['/:id', '/*'],
    ['/:id', '/%3A'],
    ['/*', '/%2A'],
    ['/', '/*'],
    ['/a', '/A'],
    ['/a/:b', '/:a/b'],
  ])('%s and %s are not', (a, b) => {
    expect(routeShape(a)).not.toBe(routeShape(b));
  });
});

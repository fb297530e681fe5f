import { parseRoute, routeShape } from '@wherry/core/routes/route-pattern.ts';
import { fc } from '@wherry/testing/properties.ts';
import { functionFor, methodsOf } from './match-method.ts';
import { pathParameters } from './path-parameters.ts';
import { RouteTable, type Routed } from './route-table.ts';

interface Item extends Routed {
  route: string;
}
const item = (route: string, methods = ['GET']): Item => ({ route, segments: parseRoute(route), methods });
const tableOf = (items: readonly Item[]): RouteTable<Item> => RouteTable.empty<Item>().with({ added: items });
const routesAt = (table: RouteTable<Item>, path: string): string[] =>
  (table.match(path.split('/').filter((part) => part !== ''))?.functions ?? []).map((found) => found.route);

/** The obvious matcher: tries each route, and keeps the most specific of those that do. */
function slowMatch(items: readonly Item[], path: readonly string[]): Item[] {
  const matching = items.filter(({ segments }) => {
    const rest = segments.at(-1)?.kind === 'rest';
    const fixed = rest ? segments.slice(0, -1) : segments;
    if (rest ? path.length < fixed.length : path.length !== fixed.length) return false;
    return fixed.every(
      (segment, index) => segment.kind === 'parameter' || (segment.kind === 'literal' && segment.value === path[index]),
    );
  });
  const rank = (route: Item): string =>
    [...route.segments.map((segment) => ({ literal: '1', parameter: '2', rest: '3' })[segment.kind]), '0'].join('');
  const best = matching.map(rank).sort()[0];
  return matching.filter((route) => rank(route) === best);
}

const segment = fc.constantFrom('a', 'b', ':x', ':y', 'A', '%61', 'a%20b');
const route = fc
  .tuple(fc.array(segment, { maxLength: 4 }), fc.boolean())
  .map(([parts, rest]) => `/${[...parts, ...(rest ? ['*'] : [])].join('/')}`)
  .filter((text) => {
    const names = text.match(/:\w/g) ?? [];
    return new Set(names).size === names.length;
  });
const path = fc.array(fc.constantFrom('a', 'b', 'A', 'a b', 'c', '*', ':x'), { maxLength: 5 });

describe('RouteTable', () => {
  it('matches as the obvious matcher does', () => {
    fc.assert(
      fc.property(
        fc.array(route, { maxLength: 12 }),
        fc.array(path, { minLength: 1, maxLength: 8 }),
        (routes, paths) => {
          const items = routes.map((text) => item(text));
          const table = tableOf(items);
          for (const segments of paths) {
            const found = [...(table.match(segments)?.functions ?? [])];
            expect(new Set(found)).toEqual(new Set(slowMatch(items, segments)));
            expect(new Set(found.map((match) => routeShape(match.route))).size).toBeLessThanOrEqual(1);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('stays what it was however its successors change, and equals one built afresh', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(route, fc.boolean()), { maxLength: 20 }),
        fc.array(path, { minLength: 1 }),
        (edits, paths) => {
          let table = RouteTable.empty<Item>();
          let items: Item[] = [];
          const versions: { table: RouteTable<Item>; items: Item[] }[] = [];
          for (const [text, removes] of edits) {
            versions.push({ table, items });
            const gone = removes ? items.slice(0, 1) : [];
            const added = item(text);
            table = table.with({ removed: gone, added: [added] });
            items = [...items.filter((other) => !gone.includes(other)), added];
          }
          for (const version of [...versions, { table, items }]) {
            for (const segments of paths) {
              const found = [...(version.table.match(segments)?.functions ?? [])];
              expect(new Set(found)).toEqual(new Set(slowMatch(version.items, segments)));
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each([
    ['/users/me', '/users/me'],
    ['/users/7', '/users/:id'],
    ['/users/7/posts', '/users/:id/posts'],
    ['/users/me/posts', '/users/:id/posts'],
    ['/users/me/other', '/users/me/*'],
    ['/users/7/other', '/*'],
    ['/users', '/*'],
    ['/', '/*'],
    ['/Users/me', '/*'],
    ['/files', '/files/*'],
    ['/files/a/b', '/files/*'],
  ])('%s is answered by %s', (target, answered) => {
    const routes = ['/*', '/users/:id', '/users/me', '/users/me/*', '/users/:id/posts', '/files/*'];
    // /users/me/posts: literal `me` holds for /users/me/* too, and is more specific at the second segment.
    const expected = target === '/users/me/posts' ? '/users/me/*' : answered;
    expect(routesAt(tableOf(routes.map((text) => item(text))), target)).toEqual([expected]);
  });

  it('prefers a route that ends where the path ends to one that ends with * there', () => {
    expect(routesAt(tableOf([item('/files/*'), item('/files')]), '/files')).toEqual(['/files']);
  });

  it('changes 1 of 10,000 routes, and matches with them; the table before stays as it was', () => {
    const items = Array.from({ length: 10_000 }, (_, index) => item(`/f${index}/:id/x`));
    const table = tableOf(items);
    for (let round = 0; round < 21; round++) {
      const next = table.with({ removed: [items[round]!], added: [item(`/new${round}`)] });
      expect(routesAt(next, `/f${round}/1/x`)).toEqual([]);
      expect(routesAt(next, `/new${round}`)).toEqual([`/new${round}`]);
      expect(routesAt(table, `/f${round}/1/x`)).toEqual([`/f${round}/:id/x`]);
    }
  });
});

describe('methods', () => {
  const table = tableOf([
    item('/u/:id', ['GET']),
    item('/u/:name', ['PUT', 'DELETE']),
    item('/u/*', ['PATCH']),
    item('/p', ['POST']),
  ]);

  it('come from all functions on the shape, not from less specific routes', () => {
    const match = table.match(['u', '1'])!;
    expect(methodsOf(match)).toEqual(['DELETE', 'GET', 'HEAD', 'PUT']);
    expect(functionFor(match, 'PUT')?.route).toBe('/u/:name');
    expect(functionFor(match, 'PATCH')).toBeUndefined();
    expect(methodsOf(table.match(['p'])!)).toEqual(['POST']);
  });

  it('HEAD is answered through GET, unless it is listed itself', () => {
    expect(functionFor(table.match(['u', '1'])!, 'HEAD')?.route).toBe('/u/:id');
    expect(functionFor(table.match(['p'])!, 'HEAD')).toBeUndefined();
    const own = tableOf([item('/u', ['GET']), item('/u', ['HEAD'])]).match(['u'])!;
    expect(functionFor(own, 'HEAD')?.methods).toEqual(['HEAD']);
  });
});

describe('pathParameters', () => {
  it.each([
    ['/users/:id', ['users', '7'], { id: '7' }],
    ['/a/:x/*', ['a', 'b c', 'd', 'e'], { x: 'b c', '*': 'd/e' }],
    ['/files/*', ['files'], { '*': '' }],
    ['/plain', ['plain'], {}],
    ['/:__proto__', ['x'], Object.fromEntries([['__proto__', 'x']])],
  ])('%s', (pattern, segments, expected) => {
    expect({ ...pathParameters(parseRoute(pattern), segments) }).toEqual(expected);
  });
});

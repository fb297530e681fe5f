import { fc } from '@wherry/testing/properties.ts';
import type { Method } from './function.ts';
import type { FunctionResource } from './kinds.ts';
import { CREATED_AT } from './meta.ts';
import { functionSpecSchema } from './function.ts';
import { acceptRoutes, conflictingFunction } from './route-conflicts.ts';

interface Given {
  name: string;
  route?: string;
  methods?: Method[];
  created?: number;
  /** Whether it was accepted: for the spec that it has, for an earlier one, never. */
  holds?: 'now' | 'before' | 'never';
  enabled?: boolean;
  deleted?: boolean;
}

function fn({
  name,
  route = '/a',
  methods = ['GET'],
  created = 0,
  holds = 'never',
  enabled = true,
  deleted = false,
}: Given): FunctionResource {
  const condition = {
    type: 'RouteAccepted',
    status: 'True' as const,
    reason: 'Accepted',
    message: '',
    lastTransitionTime: '',
    observedGeneration: holds === 'now' ? 2 : 1,
  };
  return {
    apiVersion: 'wherry.dev/v1alpha1',
    kind: 'Function',
    metadata: {
      name,
      namespace: 'wherry',
      uid: name,
      resourceVersion: '1',
      generation: 2,
      creationTimestamp: `2026-01-01T00:00:0${created}Z`,
      // Whoever writes the object writes it: it gives no right.
      annotations: { [CREATED_AT]: String(9 - created) },
      ...(deleted ? { deletionTimestamp: '2026-01-02T00:00:00Z' } : {}),
    },
    spec: { ...functionSpecSchema.parse({ handler: 's/h.ts', route: '/valid', methods, enabled }), route },
    status: holds === 'never' ? {} : { conditions: [condition] },
  };
}

const decide = (...given: Given[]): Record<string, string> =>
  Object.fromEntries(
    Array.from(acceptRoutes(given.map(fn)), ([name, decision]) => [
      name,
      decision.accepted ? 'has it' : decision.holder,
    ]),
  );

describe('acceptRoutes', () => {
  it.each<[string, Given[], Record<string, string>]>([
    [
      'the older one has it, whatever an annotation says',
      [
        { name: 'a', created: 2 },
        { name: 'b', created: 1 },
      ],
      { a: 'b', b: 'has it' },
    ],
    ['of the same age the smaller name', [{ name: 'b' }, { name: 'a' }], { a: 'has it', b: 'a' }],
    [
      'who holds it keeps it, however young',
      [
        { name: 'a', created: 1 },
        { name: 'b', created: 2, holds: 'now' },
      ],
      { a: 'b', b: 'has it' },
    ],
    [
      'an edit does not lose it to one that waits',
      [
        { name: 'a', created: 1 },
        { name: 'b', created: 2, holds: 'before' },
      ],
      { a: 'b', b: 'has it' },
    ],
    [
      'an older function that is edited onto it does not take it',
      [
        { name: 'a', created: 1, holds: 'before' },
        { name: 'b', created: 2, holds: 'now' },
      ],
      { a: 'b', b: 'has it' },
    ],
    [
      'other methods do not conflict',
      [
        { name: 'a', methods: ['GET'] },
        { name: 'b', methods: ['POST'] },
      ],
      { a: 'has it', b: 'has it' },
    ],
    [
      'GET does not stand for HEAD, nor any method for OPTIONS',
      [
        { name: 'a', methods: ['GET'] },
        { name: 'b', methods: ['HEAD', 'OPTIONS'] },
      ],
      { a: 'has it', b: 'has it' },
    ],
    [
      'all of its methods or none: what a refused one would have had is free',
      [
        { name: 'a', methods: ['GET'] },
        { name: 'b', methods: ['GET', 'POST'], created: 1 },
        { name: 'c', methods: ['POST'], created: 2 },
      ],
      { a: 'has it', b: 'a', c: 'has it' },
    ],
    [
      'parameters have no names',
      [
        { name: 'a', route: '/u/:id' },
        { name: 'b', route: '/u/:name' },
      ],
      { a: 'has it', b: 'a' },
    ],
    [
      'escapes are what they mean',
      [
        { name: 'a', route: '/%61' },
        { name: 'b', route: '/a' },
      ],
      { a: 'has it', b: 'a' },
    ],
    [
      'a literal, a parameter and the rest are three routes',
      [
        { name: 'a', route: '/u/x' },
        { name: 'b', route: '/u/:x' },
        { name: 'c', route: '/u/*' },
      ],
      { a: 'has it', b: 'has it', c: 'has it' },
    ],
    [
      'case counts',
      [
        { name: 'a', route: '/A' },
        { name: 'b', route: '/a' },
      ],
      { a: 'has it', b: 'has it' },
    ],
    [
      'a disabled one keeps its claim',
      [
        { name: 'a', enabled: false },
        { name: 'b', created: 1 },
      ],
      { a: 'has it', b: 'a' },
    ],
    [
      'one that is being deleted has none',
      [
        { name: 'a', deleted: true, holds: 'now' },
        { name: 'b', created: 1 },
      ],
      { b: 'has it' },
    ],
    [
      'K5: one whose route cannot be parsed stops no other',
      [{ name: 'a', route: 'no route' }, { name: 'b' }],
      { b: 'has it' },
    ],
  ])('%s', (_title, given, expected) => {
    expect(decide(...given)).toEqual(expected);
    expect(decide(...given.toReversed())).toEqual(expected);
  });

  const method = fc.uniqueArray(fc.constantFrom<Method>('GET', 'POST', 'PUT'), { minLength: 1 });
  const given = fc.record({
    route: fc.constantFrom('/a', '/b', '/:x', '/:y'),
    methods: method,
    created: fc.nat(3),
    holds: fc.constantFrom('now' as const, 'before' as const, 'never' as const),
  });
  const many = fc
    .array(given, { maxLength: 12 })
    .map((all) => all.map((one, index) => fn({ ...one, name: `f${index}` })));

  it('leaves no two with the same route and method, and refuses none without a rival that has it', () => {
    fc.assert(
      fc.property(many, (functions) => {
        const decisions = acceptRoutes(functions);
        const has = functions.filter(({ metadata }) => decisions.get(metadata.name)?.accepted === true);
        for (const one of functions) {
          const rival = conflictingFunction({ name: one.metadata.name, ...one.spec }, has);
          expect(rival === undefined).toBe(has.includes(one));
        }
      }),
    );
  });

  it('is stable: once its decisions are written, it decides the same', () => {
    fc.assert(
      fc.property(many, (functions) => {
        const first = acceptRoutes(functions);
        const written = functions.map((one) => {
          const accepted = first.get(one.metadata.name)?.accepted === true;
          return { ...one, status: fn({ name: 'x', holds: accepted ? 'now' : 'never' }).status };
        });
        expect(acceptRoutes(written)).toEqual(first);
      }),
    );
  });

  it('decides over 10,000 functions, all on one route or each on its own, in less than a second', () => {
    const alone = Array.from({ length: 10_000 }, (_, index) => fn({ name: `f${index}`, route: `/r${index}/:id` }));
    const together = alone.map((one) => ({ ...one, spec: { ...one.spec, route: '/same/:id' } }));
    const before = machineTime();
    const [apart, crowd] = [acceptRoutes(alone), acceptRoutes(together)];
    expect(machineTime() - before).toBeLessThan(1000);
    expect([...apart.values()].filter(({ accepted }) => accepted)).toHaveLength(10_000);
    expect([...crowd.values()].filter(({ accepted }) => accepted)).toHaveLength(1);
  });
});

describe('conflictingFunction', () => {
  const functions = [
    fn({ name: 'reader', route: '/users/:id', methods: ['GET'] }),
    fn({ name: 'writer', route: '/users/:user', methods: ['POST', 'PUT'], enabled: false }),
    fn({ name: 'broken', route: 'no route' }),
  ];
  const conflict = (route: string, methods: Method[], name?: string): string | undefined =>
    conflictingFunction({ route, methods, ...(name === undefined ? {} : { name }) }, functions)?.metadata.name;

  it.each<[string, Method[], string | undefined, string | undefined]>([
    ['/users/:x', ['GET'], undefined, 'reader'],
    ['/users/:x', ['DELETE', 'PUT'], undefined, 'writer'],
    ['/users/:x', ['DELETE'], undefined, undefined],
    ['/users/x', ['GET'], undefined, undefined],
    ['/users/*', ['GET'], undefined, undefined],
    ['/users/:id', ['GET', 'DELETE'], 'reader', undefined],
    ['/users/:id', ['GET', 'POST'], 'reader', 'writer'],
  ])('%s %j of %s conflicts with %s', (route, methods, name, expected) => {
    expect(conflict(route, methods, name)).toBe(expected);
  });

  it('names the one of the best right', () => {
    const all = [fn({ name: 'a', created: 1 }), fn({ name: 'b', created: 2, holds: 'now' })];
    expect(conflictingFunction({ route: '/a', methods: ['GET'] }, all)?.metadata.name).toBe('b');
  });
});

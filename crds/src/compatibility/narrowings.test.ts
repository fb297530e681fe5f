import type { FieldLimits, FieldSet } from './field-set.ts';
import { narrowings } from './narrowings.ts';

const field = (over: Partial<FieldLimits> = {}): FieldSet => ({
  spec: { type: 'object', required: true },
  'spec.a': {
    type: 'string',
    minLength: 1,
    maxLength: 8,
    pattern: '^a',
    enum: ['a', 'b'],
    rules: ['self != "c"'],
    nullable: true,
    ...over,
  },
});
const integer = (over: Partial<FieldLimits> = {}): FieldSet => ({
  'spec.n': { type: 'integer', minimum: 1, maximum: 9, default: 3, ...over },
});

/** Without a keyword that `field` has. */
function without(keyword: keyof FieldLimits): FieldSet {
  const set = field();
  delete set['spec.a']?.[keyword];
  return set;
}

it.each<[string, FieldSet, FieldSet, string]>([
  ['a field that is gone', field(), { spec: { type: 'object' } }, 'spec.a is gone'],
  ['another type', integer(), integer({ type: 'string' }), 'spec.n is of type string, was integer'],
  ['a field made required', field(), field({ required: true }), 'spec.a is required'],
  [
    'a new field that is required',
    field(),
    { ...field(), 'spec.b': { type: 'string', required: true } },
    'spec.b is new and required',
  ],
  ['null refused', field(), without('nullable'), 'spec.a may no longer be null'],
  ['a value gone', field(), field({ enum: ['a'] }), 'spec.a no longer accepts b'],
  ['values listed', without('enum'), field(), 'spec.a no longer accepts others'],
  ['a higher minimum', integer(), integer({ minimum: 2 }), 'spec.n has minimum 2, was 1'],
  ['a lower maximum', integer(), integer({ maximum: 8 }), 'spec.n has maximum 8, was 9'],
  ['a greatest length', without('maxLength'), field(), 'spec.a has maxLength 8, was none'],
  ['a least length', without('minLength'), field(), 'spec.a has minLength 1, was none'],
  ['another pattern', field(), field({ pattern: '^b' }), 'spec.a has a different pattern: ^b'],
  ['a pattern', without('pattern'), field(), 'spec.a has a different pattern: ^a'],
  ['a new rule', field(), field({ rules: ['self != "c"', 'self != "d"'] }), 'spec.a has the new rule self != "d"'],
  ['another default', integer(), integer({ default: 4 }), 'spec.n has default 4, was 3'],
  [
    'another kind of list',
    field(),
    field({ 'x-kubernetes-list-type': 'set' }),
    'spec.a has x-kubernetes-list-type "set", was none',
  ],
])('reports %s', (_what, before, after, problem) => {
  expect(narrowings(before, after)).toEqual([problem]);
});

it.each<[string, FieldSet, FieldSet]>([
  ['nothing', field(), field()],
  ['a new field', field(), { ...field(), 'spec.b': { type: 'string' } }],
  [
    'a new object with a field that it requires',
    field(),
    { ...field(), 'spec.b': { type: 'object' }, 'spec.b.c': { type: 'string', required: true } },
  ],
  ['a field that need not be there any more', field({ required: true }), field()],
  ['a new value', field(), field({ enum: ['a', 'b', 'c'] })],
  ['wider limits', integer(), integer({ minimum: 0, maximum: 10 })],
  ['a rule gone', field(), without('rules')],
  ['a pattern gone', field(), without('pattern')],
  ['null taken', without('nullable'), field()],
])('has nothing against %s', (_what, before, after) => {
  expect(narrowings(before, after)).toEqual([]);
});

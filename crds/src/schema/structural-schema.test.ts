import { z } from 'zod';
import { inKubernetes } from '@wherry/core/kubernetes-rule.ts';
import { structuralSchema } from './structural-schema.ts';

const text = z.string().max(9);

describe('structuralSchema', () => {
  it('says bounds, defaults, null, descriptions and what is required', () => {
    const schema = z.strictObject({
      a: text.min(1).regex(/^\/$/, 'must be a slash').describe('An a.'),
      b: z.int().min(1).max(2).nullable().default(null),
      c: z
        .array(z.enum(['x', 'y']))
        .max(3)
        .optional(),
      d: z.strictObject({ e: z.boolean().default(true) }).prefault({}),
    });
    expect(structuralSchema(schema, 'spec')).toEqual({
      type: 'object',
      required: ['a'],
      properties: {
        a: {
          description: 'An a.',
          type: 'string',
          minLength: 1,
          maxLength: 9,
          'x-kubernetes-validations': [{ rule: 'self.matches(r"^/$")', message: 'must be a slash' }],
        },
        b: { type: 'integer', nullable: true, minimum: 1, maximum: 2 },
        c: { type: 'array', maxItems: 3, items: { type: 'string', enum: ['x', 'y'] } },
        d: { type: 'object', default: { e: true }, properties: { e: { type: 'boolean', default: true } } },
      },
    });
  });

  it('says a refinement in the words that stand beside it, at its own place, also behind wrappers', () => {
    const inner = z
      .strictObject({ a: text.optional(), b: text.optional() })
      .refine(() => true, { path: ['a'], message: 'must be', params: inKubernetes('has(self.a)') })
      .refine(() => true, {
        message: 'and',
        params: inKubernetes({ cel: [{ cel: 'x', message: 'one' }, { cel: 'y' }] }),
      });
    const list = z
      .array(text)
      .max(2)
      .refine(() => true, { params: inKubernetes({ keywords: { 'x-kubernetes-list-type': 'set' } }) });
    const { properties } = structuralSchema(z.strictObject({ inner: inner.describe('d').optional(), list }), 'spec');
    expect(properties?.inner?.['x-kubernetes-validations']).toEqual([
      { rule: 'has(self.a)', message: 'must be', fieldPath: '.a' },
      { rule: 'x', message: 'one' },
      { rule: 'y', message: 'and' },
    ]);
    expect(properties?.list?.['x-kubernetes-list-type']).toBe('set');
  });

  it.each<[string, z.ZodType, string]>([
    ['a refinement without a rule for Kubernetes', z.strictObject({ a: text.refine(() => true) }), 'inKubernetes'],
    ['a superRefine', z.strictObject({ a: text.optional() }).superRefine(() => undefined), 'inKubernetes'],
    [
      'a refinement of a list, deep within',
      z.strictObject({
        a: z
          .array(
            z
              .array(text)
              .max(1)
              .refine(() => true),
          )
          .max(1)
          .optional(),
      }),
      'inKubernetes',
    ],
    ['a string without an end', z.strictObject({ a: z.string() }), 'spec.a: the string needs a maximum length'],
    ['a list without an end', z.strictObject({ a: z.array(text) }), 'spec.a: the list needs a maximum length'],
    ['an open object', z.strictObject({ a: z.object({}).loose() }), 'spec.a: the object must be closed'],
    ['an open map', z.strictObject({ a: z.record(text, text) }), 'spec.a'],
    ['a union', z.strictObject({ a: z.union([text, z.int()]) }), 'spec.a: anyOf'],
    ['a number with an open end', z.strictObject({ a: z.int().gt(1) }), 'spec.a: exclusiveMinimum'],
    ['a pattern with flags', z.strictObject({ a: text.regex(/a/i, 'must be') }), 'a: a pattern has flags'],
    ['what RE2 does not know', z.strictObject({ a: text.regex(/^(?!a)/, 'must be') }), 'look-around'],
  ])('refuses %s', (_what, schema, problem) => {
    expect(() => structuralSchema(schema, 'spec')).toThrow(problem);
  });
});

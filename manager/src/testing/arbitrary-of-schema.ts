import { fc } from '@wherry/testing/properties.ts';
import type { Json } from '../openapi/json-schemas.ts';

export interface SchemaContext {
  /** Of `#/components/schemas/…`. */
  components: Record<string, Json>;
  /** By the name of a field or parameter: what exists, and is sent in most requests. */
  known: Readonly<Record<string, readonly string[]>>;
}

/**
 * Values for a schema of the OpenAPI document: nearly all fit it. Rules between fields (`not`, `if`, `allOf`) are left to
 * the caller's filter. What a request cannot set is left out.
 */
export function arbitraryOf(schema: Json, context: SchemaContext, name = ''): fc.Arbitrary<unknown> {
  const generated = generate(schema, context, name);
  const known = context.known[name];
  const takesText = schema.type === 'string' || 'anyOf' in schema;
  return known === undefined || !takesText
    ? generated
    : fc.oneof({ arbitrary: fc.constantFrom(...known), weight: 3 }, { arbitrary: generated, weight: 1 });
}

function generate(schema: Json, context: SchemaContext, name: string): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string')
    return arbitraryOf(context.components[schema.$ref.split('/').at(-1) ?? ''] ?? {}, context, name);
  if ('const' in schema) return fc.constant(schema.const);
  if ('enum' in schema) return fc.constantFrom(...(schema.enum as unknown[]));
  if (schema.type === undefined && 'anyOf' in schema)
    return fc.oneof(...(schema.anyOf as Json[]).map((one) => generate(one, context, name)));
  const make = BY_TYPE[schema.type as string];
  return make === undefined ? fc.jsonValue() : make(schema, context, name);
}

type Make = (schema: Json, context: SchemaContext, name: string) => fc.Arbitrary<unknown>;
const BY_TYPE: Partial<Record<string, Make>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: ({ minimum = 0, maximum = 1_000_000 }) => fc.integer({ min: Number(minimum), max: Number(maximum) }),
  number: ({ minimum = 0, maximum = 1_000_000 }) =>
    fc.double({ min: Number(minimum), max: Number(maximum), noNaN: true }),
  string: textOf,
  array: (schema, context, name) => {
    const min = Number(schema.minItems ?? 0);
    const limits = { minLength: min, maxLength: Math.min(Number(schema.maxItems ?? 3), min + 3) };
    const item = arbitraryOf((schema.items ?? {}) as Json, context, name);
    if (schema.uniqueItems !== true) return fc.array(item, limits);
    return fc.uniqueArray(item, { ...limits, selector: (value) => JSON.stringify(value) });
  },
  object: (schema, context) => {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>);
    const settable = properties.filter(([, { readOnly }]) => readOnly !== true);
    const fields = Object.fromEntries(settable.map(([field, one]) => [field, arbitraryOf(one, context, field)]));
    const required = (schema.required ?? []) as string[];
    const optional = Object.keys(fields).filter((field) => !required.includes(field));
    // With many fields at once, one that is refused hides what the service does with the others.
    return fc
      .subarray(optional, { maxLength: Math.min(optional.length, 5) })
      .chain((chosen) =>
        fc.record(
          Object.fromEntries([...required, ...chosen].map((field) => [field, fields[field] ?? fc.jsonValue()])),
          { noNullPrototype: true },
        ),
      );
  },
};

function textOf({ format, pattern, minLength = 0, maxLength }: Json): fc.Arbitrary<string> {
  const min = Number(minLength);
  const max = Number(maxLength ?? min + 32);
  if (format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString());
  if (format === 'email') return fc.stringMatching(/^[a-z]{1,8}@example\.com$/);
  if (typeof pattern === 'string')
    return fc.stringMatching(new RegExp(pattern, 'u')).filter(({ length }) => length >= min && length <= max);
  return fc.string({ minLength: min, maxLength: Math.min(max, min + 32), unit: 'grapheme' });
}

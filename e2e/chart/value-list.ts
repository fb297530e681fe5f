import type { z } from 'zod';
import { valuesSchema } from './values-schema.ts';

/** One value of the chart, or a group of them. */
export interface Value {
  /** Its names from the top: `['router', 'service', 'port']`. */
  path: readonly string[];
  description: string;
  default: unknown;
  /** Of a group: what is in it. */
  members?: readonly Value[];
  /** The only values that it takes, where there is a list of them. */
  choices?: readonly string[];
}

interface Definition {
  shape?: Record<string, z.ZodType>;
  innerType?: z.ZodType;
  entries?: Record<string, string>;
}

/**
 * All values of the chart in their order, groups with their members.
 * @throws Error that names a value without description or without default
 */
export function valueList(): readonly Value[] {
  return members(valuesSchema, [], valuesSchema.parse({}));
}

function members(schema: z.ZodType, path: readonly string[], defaults: unknown): Value[] {
  return Object.entries(definition(schema).shape ?? {}).map(([name, inner]) =>
    describe(inner, [...path, name], (defaults as Record<string, unknown>)[name]),
  );
}

function describe(schema: z.ZodType, path: readonly string[], byDefault: unknown): Value {
  const layers = unwrap(schema);
  const description = layers.map((layer) => layer.description).find((text) => text !== undefined);
  if (description === undefined) throw new Error(`${path.join('.')} has no description in values-schema.ts`);
  if (byDefault === undefined) throw new Error(`${path.join('.')} has no default in values-schema.ts`);
  const innermost = layers.at(-1) ?? schema;
  const { shape, entries } = definition(innermost);
  const value: Value = { path, description, default: byDefault };
  // `requests` and `limits` are Kubernetes' own: they are one value here.
  if (shape !== undefined && Object.keys(shape).length > 0 && path.at(-1) !== 'resources')
    return { ...value, members: members(innermost, path, byDefault) };
  return entries === undefined ? value : { ...value, choices: Object.values(entries) };
}

/** A schema and what its defaults wrap, outermost first. */
function unwrap(schema: z.ZodType): z.ZodType[] {
  const { innerType } = definition(schema);
  return innerType === undefined ? [schema] : [schema, ...unwrap(innerType)];
}

const definition = (schema: z.ZodType): Definition => schema._zod.def as Definition;

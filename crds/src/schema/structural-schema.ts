import { z } from 'zod';
import { toRe2 } from './re2.ts';
import { refinementsOf, type ValidationRule } from './validation-rules.ts';

/** A structural schema: the part of OpenAPI v3 that a CustomResourceDefinition may hold, as far as it is used here. */
export interface StructuralSchema {
  description?: string;
  type: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  nullable?: boolean;
  default?: unknown;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  items?: StructuralSchema;
  required?: string[];
  properties?: Record<string, StructuralSchema>;
  'x-kubernetes-map-type'?: 'atomic';
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: ValidationRule[];
}

/** Every keyword that may come out, in the order in which it is written. */
const KEYWORDS = [
  'description',
  'type',
  'nullable',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'x-kubernetes-map-type',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
  'items',
  'required',
  'properties',
] as const satisfies (keyof StructuralSchema)[];
/** Redundant keywords: Kubernetes prunes unknown fields, and a format is a pattern as well. */
const DROPPED = new Set(['$schema', 'additionalProperties', 'format', 'const']);

/**
 * A zod schema in the form that Kubernetes accepts: no references, unions or open maps, every string and list bounded
 * (the cost of CEL rules is computed from those bounds), refinements and patterns as rules in CEL, in RE2.
 * @param name for errors
 * @throws RangeError for what cannot be expressed like this
 */
export function structuralSchema(schema: z.ZodType, name: string): StructuralSchema {
  const made = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ zodSchema, jsonSchema, path }) => {
      const { rules, keywords } = refinementsOf(zodSchema, [name, ...path].join('.'));
      Object.assign(jsonSchema, keywords, rules.length > 0 && { 'x-kubernetes-validations': rules });
      // It is among the rules. What is left is the pattern of a format, which has no message of ours.
      if (rules.length > 0) delete jsonSchema.pattern;
    },
  });
  return convert(made, name);
}

function convert(source: Record<string, unknown>, where: string): StructuralSchema {
  const unknown = Object.keys(source).filter((key) => !KEYWORDS.some((known) => known === key) && !DROPPED.has(key));
  if (unknown.length > 0) throw new RangeError(`${where}: ${unknown.join(', ')} cannot be in a structural schema`);
  const sorted = Object.fromEntries(KEYWORDS.flatMap((key) => (source[key] === undefined ? [] : [[key, source[key]]])));
  const schema = sorted as unknown as StructuralSchema;
  // JSON has no default of null: the field stays absent, which means the same to its readers.
  if (schema.default === null) delete schema.default;
  if (schema.pattern !== undefined) schema.pattern = toRe2(schema.pattern);
  if (schema.items !== undefined) schema.items = convert({ ...schema.items }, `${where}[]`);
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties);
    schema.properties = Object.fromEntries(
      fields.map(([field, inner]) => [field, convert({ ...inner }, `${where}.${field}`)]),
    );
    // Kubernetes applies rules to a default as written, before the defaults of its fields are filled in.
    if (schema.default !== undefined) schema.default = { ...defaultsOf(schema.properties), ...schema.default };
  }
  requireBounds(source, schema, where);
  return schema;
}

function defaultsOf(fields: Record<string, StructuralSchema>): object {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => (field.default === undefined ? [] : [[name, field.default]])),
  );
}

function requireBounds(source: Record<string, unknown>, schema: StructuralSchema, where: string): void {
  const problem = {
    string:
      schema.maxLength === undefined && schema.enum === undefined ? 'the string needs a maximum length' : undefined,
    array: schema.maxItems === undefined ? 'the list needs a maximum length' : undefined,
    object: source.additionalProperties === false ? undefined : 'the object must be closed: z.strictObject',
    integer: undefined,
    boolean: undefined,
  }[schema.type];
  if (problem !== undefined) throw new RangeError(`${where}: ${problem}`);
}

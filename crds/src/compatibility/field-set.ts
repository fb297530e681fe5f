import type { Kind } from '@wherry/core/resources/kinds.ts';
import { schemasOf } from '../definition/custom-resource-definition.ts';
import type { StructuralSchema } from '../schema/structural-schema.ts';

/** What a definition accepts at one field, as the keywords of its schema. */
export type FieldLimits = Omit<
  StructuralSchema,
  'description' | 'items' | 'properties' | 'required' | 'x-kubernetes-validations'
> & {
  required?: true;
  /** In CEL, without their messages. */
  rules?: string[];
};

/** Every field of a kind by its path (`spec.methods[]`). */
export type FieldSet = Record<string, FieldLimits>;

/** What the definition of a kind accepts now. */
export function fieldSet(kind: Kind): FieldSet {
  const { spec, status, name } = schemasOf(kind);
  return {
    ...fieldsOf('metadata.name', name, true),
    ...fieldsOf('spec', spec, true),
    ...fieldsOf('status', status, false),
  };
}

function fieldsOf(path: string, schema: StructuralSchema, required: boolean): FieldSet {
  const {
    description: _d,
    items,
    properties,
    required: inner,
    'x-kubernetes-validations': validations,
    ...limits
  } = schema;
  const rules = validations?.map(({ rule }) => rule);
  const own: FieldLimits = { ...limits, ...(required && { required }), ...(rules && { rules }) };
  const members = Object.entries(properties ?? {}).map(([field, each]) =>
    fieldsOf(`${path}.${field}`, each, inner?.includes(field) === true),
  );
  return Object.assign({ [path]: own }, ...members, items && fieldsOf(`${path}[]`, items, false)) as FieldSet;
}

import { z } from 'zod';

export type Json = Record<string, unknown>;

/** JSON schemas of one document: those with a name (`.meta({ id })`) appear once among its components. */
export class JsonSchemas {
  /** By name. */
  readonly components: Record<string, Json> = {};

  /** The schema of what is sent (`input`) or answered (`output`). */
  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const made = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any', override: addRules });
    const { $schema: _dialect, $defs, ...rest } = relocate(made);
    Object.assign(this.components, $defs);
    return rest;
  }

  /** The schema of a body, with the fields that it may hold and that are ignored. */
  ofBody(schema: z.ZodType, readOnly: readonly string[]): Json {
    const made = this.of(schema, 'input');
    const name = typeof made.$ref === 'string' ? (made.$ref.split('/').at(-1) ?? '') : '';
    const target = this.components[name] ?? made;
    const ignored = Object.fromEntries(
      readOnly.map((field) => [field, { readOnly: true, description: 'Ignored in requests' }]),
    );
    target.properties = { ...(target.properties as Json | undefined), ...ignored };
    return made;
  }
}

/** The rules that only code checks: `inDocument`. */
function addRules({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: object }): void {
  for (const check of zodSchema._zod.def.checks ?? []) {
    const { params } = check._zod.def as { params?: { document?: object } };
    Object.assign(jsonSchema, params?.document);
  }
}

function relocate(schema: object): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
}
